import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { cliBench, shaped } from '../support/cli.ts';
import { ERROR_SCHEMA } from '../support/cli-schemas.ts';
import { serveArgs, startNode } from '../support/running-node.ts';

const READER = 'r'.repeat(32);
const WRITER = 'w'.repeat(32);
const TOKENS = `# who may what\n\n${READER} read\n${WRITER}\twrite\n`;

const as = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });
const put = (token: string): RequestInit => ({ ...as(token), method: 'PUT', body: 'x' });

function writeTokens(bench: CliBench, text: string, mode = 0o600): void {
  // Beside and renamed, so that nobody reads half a file.
  writeFileSync(bench.path('new'), text);
  chmodSync(bench.path('new'), mode);
  renameSync(bench.path('new'), bench.path('tokens'));
}

async function startGuarded() {
  const bench = cliBench();
  writeTokens(bench, TOKENS);
  return { bench, node: await startNode(bench, 'primary', ['--token-file', 'tokens']) };
}

describe('a server with tokens', () => {
  test('lets everybody ask how it is and what it is, and nothing else', async () => {
    const { node } = await startGuarded();

    expect([(await node.ask('/health')).status, (await node.ask('/role')).status]).toEqual([200, 200]);
    for (const path of ['/metrics', '/records/r-1', '/nothing', '/healthy', '//health']) {
      const answer = await node.ask(path);
      expect({ path, status: answer.status }).toEqual({ path, status: 401 });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  test('lets a token do what its scope says', async () => {
    const { node } = await startGuarded();

    expect((await node.ask('/records/r-1', put(READER))).status).toBe(403);
    expect((await node.ask('/records/r-1', as(READER))).status).toBe(404);
    expect((await node.ask('/records/r-1', put(WRITER))).status).toBe(204);
    expect((await node.ask('/records/r-1', as(READER))).text).toBe('x');
    expect((await node.ask('/metrics', as(READER))).status).toBe(200);
  });

  test('refuses whatever is no token with 401, and changes nothing', async () => {
    const { node } = await startGuarded();
    const headers = {
      'another token': `Bearer ${'x'.repeat(32)}`,
      'the beginning of a token': `Bearer ${WRITER.slice(1)}`,
      'a token and more': `Bearer ${WRITER}w`,
      'another scheme': `Basic ${WRITER}`,
      'no scheme': WRITER,
      'no token': 'Bearer ',
      'a comment of the file': 'Bearer #',
    };

    for (const [what, authorization] of Object.entries(headers)) {
      const answer = await node.ask('/records/r-1', { method: 'PUT', body: 'x', headers: { authorization } });
      expect({ what, status: answer.status }).toEqual({ what, status: 401 });
    }

    expect((await node.ask('/records/r-1', as(READER))).status).toBe(404);
  });

  test('goes by a changed file with the next request, and by the old one while the new one is wrong', async () => {
    const { bench, node } = await startGuarded();
    expect((await node.ask('/records/r-1', put(WRITER))).status).toBe(204);

    const next = 'n'.repeat(32);
    writeTokens(bench, `${next} write\n`);
    expect((await node.ask('/records/r-1', put(next))).status).toBe(204);
    expect((await node.ask('/records/r-1', put(WRITER))).status).toBe(401);

    writeTokens(bench, `${WRITER} write\n`, 0o644);
    expect((await node.ask('/records/r-1', put(WRITER))).status).toBe(401);
    expect((await node.ask('/records/r-1', put(next))).status).toBe(204);
    expect(node.log()).toContain('others may read it');
  });

  test('writes no token into its log or its answers', async () => {
    const { node } = await startGuarded();
    const guess = 'g'.repeat(32);
    const answers = await Promise.all([
      node.ask('/records/r-1', put(guess)),
      node.ask('/records/r-1', put(READER)),
      node.ask('/records/%', put(WRITER)),
      node.ask('/metrics', as(WRITER)),
    ]);
    node.child.kill('SIGTERM');
    const { stdout, stderr } = await node.ended;

    const said = [stdout, stderr, ...answers.map((answer) => answer.text)].join('\n');
    expect([READER, WRITER, guess].filter((token) => said.includes(token))).toEqual([]);
  });
});

test.each([
  ['can be read by others', TOKENS, 0o640, undefined],
  ['is empty', '\n# nobody\n', 0o600, undefined],
  ['has a token without a scope', `${READER} read\n${WRITER}\n`, 0o600, 2],
  ['has a scope of its own', `${WRITER} admin\n`, 0o600, 1],
  ['has a token that can be guessed', 'secret write\n', 0o600, 1],
])('a file of tokens that %s is refused: exit 2, and no token is told', async (_name, text, mode, line) => {
  const bench = cliBench();
  writeTokens(bench, text, mode);

  const { code, stdout } = await bench.run([...serveArgs(bench, 'primary'), '--token-file', 'tokens']);

  const { error } = shaped(ERROR_SCHEMA, JSON.parse(stdout));
  expect({ code, told: error.code, line: error['line'] }).toEqual({
    code: 2,
    told: 'token_file_unusable',
    line,
  });
  expect([READER, WRITER, 'secret'].filter((token) => stdout.includes(token))).toEqual([]);
});

test('a file of tokens that is not there is refused: exit 2', async () => {
  const bench = cliBench();

  const { code, stdout } = await bench.run([...serveArgs(bench, 'primary'), '--token-file', 'nowhere']);

  expect({ code, told: shaped(ERROR_SCHEMA, JSON.parse(stdout)).error.code }).toEqual({
    code: 2,
    told: 'token_file_unusable',
  });
});

test('one address may send so many requests a second; how a node is may be asked always', async () => {
  const node = await startNode(cliBench(), 'primary', ['--max-rate', '1']);

  const began = performance.now();
  const answers = await Promise.all(Array.from({ length: 50 }, () => node.get('r-1')));
  const seconds = (performance.now() - began) / 1000;

  const taken = answers.filter((answer) => answer.status === 404);
  const refused = answers.filter((answer) => answer.status === 429);
  expect(taken.length).toBeGreaterThan(0);
  expect(taken.length).toBeLessThanOrEqual(1 + Math.ceil(seconds));
  expect(taken.length + refused.length).toBe(50);
  expect(refused[0]?.headers.get('retry-after')).toBe('1');
  expect((await node.ask('/health')).text).toBe('ready');
});

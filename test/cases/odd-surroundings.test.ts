import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync, symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { CLI_BIN, cliBench, toLines } from '../support/cli.ts';
import { EVENTS, filledStore } from '../support/cli-store.ts';

/** Runs the command in a shell of the test's own making, with nothing of the caller's environment. */
function inShell(bench: CliBench, before: string, args: string, env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', `${before}; exec ${process.execPath} ${CLI_BIN} ${args}`],
    { cwd: bench.dir, env, encoding: 'utf8', input: EVENTS },
  );
  return { status, stdout, stderr };
}

test('without HOME, TMPDIR and PATH everything works, and nothing is said of it', async () => {
  const bench = cliBench();
  expect(inShell(bench, ':', '--json event append')).toMatchObject({ status: 0, stderr: '' });
  expect(inShell(bench, ':', '--json verify --rebuild')).toMatchObject({ status: 0, stderr: '' });
  expect(inShell(bench, ':', '--json -s jsonl:root event append')).toMatchObject({ status: 0, stderr: '' });
  expect(inShell(bench, ':', '--json -s jsonl:root verify --rebuild')).toMatchObject({
    status: 0,
    stderr: '',
  });
});

test('a locale that is not UTF-8 and a time zone with odd offsets change no byte of an answer', async () => {
  const bench = await filledStore();
  await bench.run(['event', 'append'], { stdin: toLines({ type: 'x.note', text: 'ü€𝄞' }) });
  for (const args of [
    '--json audit t-1 --as-of 3',
    '--json event list',
    '--json stats',
    '--json explain t-1',
  ]) {
    const answers = [
      { LC_ALL: 'C.UTF-8', TZ: 'UTC' },
      { LC_ALL: 'C', TZ: 'Pacific/Apia' },
      { LANG: 'de_DE.ISO-8859-1', TZ: 'Asia/Kathmandu' },
      { LC_ALL: 'nonsense', TZ: 'No/Where' },
    ].map((env) => inShell(bench, ':', args, env));
    expect(
      new Set(
        answers.map(
          ({ status, stdout }) => `${status} ${stdout.replaceAll(/"(at|age_ms)":("[^"]*"|\d+)/g, '')}`,
        ),
      ).size,
    ).toBe(1);
  }
});

test('under a strict umask a store is readable to its owner alone, and whole', () => {
  const bench = cliBench();
  expect(inShell(bench, 'umask 077', 'event append').status).toBe(0);
  expect(inShell(bench, 'umask 077', '-s jsonl:root event append').status).toBe(0);
  for (const file of ['.custody/custody.db', 'root/logs/events.jsonl'])
    expect(statSync(bench.path(file)).mode & 0o077).toBe(0);
  expect(inShell(bench, 'umask 077', '-s jsonl:root verify --rebuild').status).toBe(0);
});

test('a store that is reached by two paths is one store: two writers, one order', async () => {
  const bench = cliBench();
  mkdirSync(bench.path('real'));
  symlinkSync(bench.path('real'), bench.path('link'));
  for (const [url, count] of [
    ['sqlite:FOLDER/custody.db', 60],
    ['jsonl:FOLDER/root', 60],
  ] as const) {
    await bench.run(['-s', url.replace('FOLDER', 'real'), 'init']);
    const writers = ['real', 'link'].map((folder, writer) =>
      bench.run(['-s', url.replace('FOLDER', folder), 'event', 'append'], {
        stdin: toLines(
          ...Array.from({ length: count }, (_, index) => ({ type: 'x.note', id: `w-${writer}-${index}` })),
        ),
      }),
    );
    expect((await Promise.all(writers)).map(({ code }) => code)).toEqual([0, 0]);
    const { code, value } = await bench.json(['-s', url.replace('FOLDER', 'link'), 'verify', '--rebuild']);
    expect({ code, value }).toMatchObject({ code: 0, value: { ok: true, events: 2 * count } });
  }
});

test('with hardly any file descriptors a command fails by name, not by accident, and loses nothing', async () => {
  const bench = await filledStore();
  for (const limit of [18, 20, 22, 24, 26, 28, 32]) {
    const { status, stdout } = inShell(bench, `ulimit -n ${limit}`, '--json event append');
    // Node itself may not start; what the command does say is an answer.
    if (status === null || stdout === '') continue;
    expect([0, 2, 3, 4]).toContain(status);
    // A program that can't read its own files says which, and why.
    if (stdout.includes('"internal"')) expect(stdout).toContain('EMFILE');
  }
  expect((await bench.json(['verify', '--rebuild'])).value).toMatchObject({ ok: true, events: 5 });
});

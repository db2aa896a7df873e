import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { openLedger } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import type { ListeningProcess, Pair } from '../support/served-pair.ts';
import { ask, carriedOut, get, put, refusalOf, startPair } from '../support/served-pair.ts';
import { SERVED_STORES } from '../support/served-stores.ts';

const RECORDS = { 'r-1': 'one', 'r-2': 'two\nlines', 'r-3': '' };

describe.each(SERVED_STORES)('a failover on $name', ({ url }) => {
  /** T1 up to the failover: three records, the primary killed. */
  async function deadPrimary(): Promise<Pair> {
    const pair = await startPair(await url());
    for (const [id, text] of Object.entries(RECORDS)) expect(await put(pair.proxy.url, id, text)).toBe(204);
    await pair.primary.kill();
    return pair;
  }

  async function expectServing(base: string): Promise<void> {
    expect(await ask(base, '/health')).toEqual({ status: 200, body: 'ready' });
    expect(await ask(base, '/role')).toEqual({ status: 200, body: 'primary' });
    for (const [id, text] of Object.entries(RECORDS)) expect(await get(base, id)).toBe(text);
    expect(await ask(base, '/records/missing')).toEqual({ status: 404, body: '' });
  }

  test('T1 promotes the replica: every record intact, and writes go on through the proxy', async () => {
    const pair = await deadPrimary();
    expect(await ask(pair.proxy.url, '/health')).toEqual({ status: 502, body: '' });

    const report = carriedOut(await pair.failover('promote', '--mark-failed'));

    expect(report).toMatchObject({
      epoch: 2,
      upstream: String(pair.replica.port),
      primary: 'replica',
      fenced: ['primary'],
      steps: ['preflight', 'fence', 'promote', 'switch', 'verify'].map((step) => ({ step, done: true })),
    });
    await expectServing(pair.proxy.url);
    expect(await put(pair.proxy.url, 'r-4', 'héllo ✓')).toBe(204);
    expect(await get(pair.proxy.url, 'r-4')).toBe('héllo ✓');
    expect(pair.told('upstream')).toBe(String(pair.replica.port));
    expect(pair.told('replica.role')).toBe('primary');
    expect(pair.told('primary.fenced')).toMatch(/^primary fenced at epoch 2 since \d{4}-.*Z$/);
  });

  test('T2 survives a restart of the proxy and of the node', async () => {
    const pair = await deadPrimary();
    carriedOut(await pair.failover('promote', '--mark-failed'));
    expect(await put(pair.proxy.url, 'r-4', 'héllo ✓')).toBe(204);

    expect(await pair.proxy.stop()).toBe(0);
    expect(await pair.replica.stop()).toBe(0);
    await pair.startNode('replica', { port: pair.replica.port });
    const proxy = await pair.startProxy(pair.proxy.port);

    await expectServing(proxy.url);
    expect(await get(proxy.url, 'r-4')).toBe('héllo ✓');
    expect(await put(proxy.url, 'r-5', 'later')).toBe(204);
    expect(await get(proxy.url, 'r-5')).toBe('later');
  });

  test('T3 the old primary, started again by mistake, exits with 1 and listens on nothing', async () => {
    const pair = await deadPrimary();
    carriedOut(await pair.failover('promote', '--mark-failed'));
    const listen = ['--listen', `127.0.0.1:${pair.primary.port}`, '--node', 'primary'];

    const { code, value } = await pair.json(['serve', ...listen, '--state', pair.folder]);

    expect(code).toBe(1);
    expect(value).toMatchObject({ outcome: 'refused', reason: 'node_fenced', node: 'primary' });
    await expect(ask(pair.primary.url, '/health')).rejects.toThrow('fetch failed');
    expect(Object.keys(pair.everyFile())).toEqual(
      expect.arrayContaining(['primary.failed', 'primary.fenced']),
    );
  });

  test('T3 also without the file of its fence: the store knows for whom its epoch began', async () => {
    const pair = await deadPrimary();
    carriedOut(await pair.failover('promote', '--mark-failed'));
    rmSync(join(pair.folder, 'primary.fenced'));

    const result = await pair.run([
      ...['serve', '--listen', '127.0.0.1:0', '--node', 'primary', '--state', pair.folder],
    ]);

    expect(result.code).toBe(1);
    expect(result.stderr).toContain('is fenced and must not serve');
  });

  test.each([{ more: [] }, { more: ['--force-fence'] }])(
    'T4 a primary that answers is not failed over, and nothing changes: $more',
    async ({ more }) => {
      const pair = await startPair(await url());
      expect(await put(pair.proxy.url, 'r-1', 'one')).toBe(204);
      const files = pair.everyFile();

      const answer = await pair.failover('promote', '--mark-failed', ...more);

      expect(refusalOf(answer)).toBe('old_primary_answers');
      expect(pair.everyFile()).toEqual(files);
      expect(carriedOut(await pair.failover('status')).epoch).toBe(1);
      expect(await put(pair.proxy.url, 'r-2', 'two')).toBe(204);
    },
  );

  test.each([
    ['reads the shared state folder', true],
    ['sees no state folder of others, so that only the epoch stops it', false],
  ])('T6 a paused primary that %s finds its write refused when it wakes up', async (_, isShared) => {
    const pair = await startPair(await url());
    let old: ListeningProcess = pair.primary;
    if (!isShared) {
      await pair.primary.kill();
      old = await pair.startNode('primary', { port: pair.primary.port, folder: pair.path('.') });
    }
    expect(await put(pair.proxy.url, 'r-1', 'before')).toBe(204);
    const write = await openWrite(old, 'r-1', 'from the paused primary');
    old.child.kill('SIGSTOP');

    const refused = await pair.failover('promote', '--mark-failed');
    expect(refusalOf(refused)).toBe('old_primary_silent');
    carriedOut(await pair.failover('promote', '--mark-failed', '--force-fence'));
    const answered = write.finish();
    old.child.kill('SIGCONT');

    expect(await answered).toEqual({ status: 503, body: 'read-only' });
    expect(await put(old.url, 'r-1', 'again')).toBe(503);
    expect(await get(pair.proxy.url, 'r-1')).toBe('before');
    expect(await ask(old.url, '/role')).toEqual({ status: 200, body: 'replica' });
    if (!isShared) expect(old.log()).toContain('another writer has taken over the ledger; epoch 1 is over');
  });

  test('raising the epoch once more does no harm: the promoted node takes the ledger up again', async () => {
    const pair = await deadPrimary();
    carriedOut(await pair.failover('promote', '--mark-failed'));
    await using ledger = await openLedger(pair.store);
    const again = { from_node: 'primary', to_node: 'replica' };
    expect(await ledger.raiseEpoch('the same failover, once more', again)).toMatchObject({ epoch: 3 });

    const statuses = [await put(pair.proxy.url, 'r-4', 'x'), await put(pair.proxy.url, 'r-4', 'héllo ✓')];

    expect(statuses.at(-1)).toBe(204);
    await expectServing(pair.proxy.url);
    const report = carriedOut(await pair.failover('promote'));
    expect(report).toMatchObject({ epoch: 3, primary: 'replica' });
  });

  test('a failover is followed by the next one, and its node names are found out', async () => {
    const pair = await deadPrimary();
    carriedOut(await pair.failover('promote', '--mark-failed'));
    pair.say('node-3.role', 'replica');
    const third = await pair.startNode('node-3', { port: pair.primary.port });
    await pair.replica.kill();

    const ends = ['--old', pair.replica.url, '--new', third.url, '--public', pair.proxy.url];
    const { code, value } = await pair.json([
      ...['failover', 'promote', '--state', pair.folder, ...ends, '--mark-failed'],
    ]);

    expect(code).toBe(0);
    expect(value).toMatchObject({ epoch: 3, primary: 'node-3', fenced: ['primary', 'replica'] });
    await expectServing(pair.proxy.url);
    expect(await put(pair.proxy.url, 'r-4', 'third')).toBe(204);
    // The first failover, from somebody's history of commands.
    expect(refusalOf(await pair.failover('promote', '--old-node', 'primary', '--new-node', 'replica'))).toBe(
      'old_primary_answers',
    );
  });
});

/** Sends the headers and half of a write, and returns once the node has begun to work on it. */
async function openWrite(node: ListeningProcess, id: string, text: string) {
  const bytes = Buffer.from(text);
  const sending = request(`${node.url}/records/${id}`, {
    method: 'PUT',
    headers: { expect: '100-continue', 'content-length': bytes.length, connection: 'close' },
  });
  const answer = new Promise<{ status: number; body: string }>((resolve, reject) => {
    sending.on('error', reject);
    sending.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        body += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
  });
  await new Promise<void>((resolve) => {
    sending.once('continue', () => resolve());
    sending.flushHeaders();
  });
  sending.write(bytes.subarray(0, 4));
  return {
    finish: () => {
      sending.end(bytes.subarray(4));
      return answer;
    },
  };
}

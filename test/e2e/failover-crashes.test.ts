import { setTimeout as sleep } from 'node:timers/promises';
import { openLedger } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import type { FailoverPoint } from '../support/failover-process.ts';
import { FAILOVER_POINTS, killFailoverAt } from '../support/failover-process.ts';
import { countFigures } from '../support/figures.ts';
import type { ListeningProcess, Pair } from '../support/served-pair.ts';
import { ask, carriedOut, get, put, startPair } from '../support/served-pair.ts';
import { SERVED_STORES } from '../support/served-stores.ts';

const RECORDS = { 'r-1': 'one', 'r-2': 'two', 'r-3': 'three' };

/** The first point from which on the old primary must not write, and the first at which the new one may. */
const IS_TAKEN_FROM_OLD = FAILOVER_POINTS.indexOf('raised');
const IS_GIVEN_TO_NEW = FAILOVER_POINTS.indexOf('promoted');

async function pairWithRecords(url?: string): Promise<Pair> {
  const pair = await startPair(url);
  for (const [id, text] of Object.entries(RECORDS)) expect(await put(pair.proxy.url, id, text)).toBe(204);
  return pair;
}

/** Everything that T1 says of the end of a failover, and that there was one. */
async function expectFailedOver(pair: Pair): Promise<void> {
  const base = pair.proxy.url;
  expect(await ask(base, '/health')).toEqual({ status: 200, body: 'ready' });
  expect(await ask(base, '/role')).toEqual({ status: 200, body: 'primary' });
  for (const [id, text] of Object.entries(RECORDS)) expect(await get(base, id)).toBe(text);
  expect(await ask(base, '/records/missing')).toEqual({ status: 404, body: '' });
  expect(await put(base, 'r-4', 'héllo ✓')).toBe(204);
  expect(await get(base, 'r-4')).toBe('héllo ✓');
  expect(pair.told('upstream')).toBe(String(pair.replica.port));
  expect(pair.told('primary.fenced')).toContain('primary fenced at epoch 2 since ');
  await using ledger = await openLedger(pair.store);
  const raised = await collect(ledger.read({ type: 'ledger.epoch_raised' }));
  expect(raised.map(({ event }) => event)).toMatchObject([
    { raised_to: 2, from_node: 'primary', to_node: 'replica' },
  ]);
  expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
}

/** Who takes a write at this moment. */
async function writers(old: ListeningProcess | null, standby: ListeningProcess): Promise<readonly string[]> {
  const statuses = await Promise.all([
    old === null ? null : put(old.url, 'who', 'the old one'),
    put(standby.url, 'who', 'the new one'),
  ]);
  expect(statuses.filter((status) => ![204, 503, null].includes(status))).toEqual([]);
  return ['old', 'new'].filter((_, index) => statuses[index] === 204);
}

/** Starts a node again by mistake; null if it would not be started. */
async function startAgain(pair: Pair, name: string, port: number): Promise<ListeningProcess | null> {
  try {
    return await pair.startNode(name, { port });
  } catch (error) {
    expect(String(error)).toContain('node_fenced');
    return null;
  }
}

function expectedWriters(point: FailoverPoint): readonly string[] {
  const place = FAILOVER_POINTS.indexOf(point);
  if (place < IS_TAKEN_FROM_OLD) return ['old'];
  return place < IS_GIVEN_TO_NEW ? [] : ['new'];
}

describe.each(SERVED_STORES)('a failover that is killed, on $name', ({ url }) => {
  test.each(FAILOVER_POINTS)(
    'T5 when %s: the old primary, started again, never writes beside the new one, and a rerun ends as T1',
    async (point) => {
      const pair = await pairWithRecords(await url());
      await pair.primary.kill();

      await killFailoverAt(pair, point);

      const old = await startAgain(pair, 'primary', pair.primary.port);
      expect(await writers(old, pair.replica)).toEqual(expectedWriters(point));
      await old?.kill();
      carriedOut(await pair.failover('promote', '--mark-failed'));
      await expectFailedOver(pair);
      // Once more, as a whole: nothing is left to do.
      carriedOut(await pair.failover('promote'));
      await expectFailedOver(pair);
    },
  );
});

test.each(FAILOVER_POINTS)(
  'T5 and T6 when %s: a paused primary that sees no state folder never writes beside the new one',
  async (point) => {
    const pair = await pairWithRecords();
    await pair.primary.kill();
    const old = await pair.startNode('primary', { port: pair.primary.port, folder: pair.path('.') });
    expect(await put(old.url, 'who', 'primary')).toBe(204);
    old.child.kill('SIGSTOP');

    await killFailoverAt(pair, point, { forceFence: true });
    old.child.kill('SIGCONT');
    expect(await writers(old, pair.replica)).toEqual(expectedWriters(point));
    old.child.kill('SIGSTOP');

    carriedOut(await pair.failover('promote', '--mark-failed', '--force-fence'));
    old.child.kill('SIGCONT');
    expect(await writers(old, pair.replica)).toEqual(['new']);
    await expectFailedOver(pair);
  },
);

test('T5 killed at any instant, the command ends as T1 when it is run again', async () => {
  const ROUNDS = 6;
  for (let round = 0; round < ROUNDS; round += 1) {
    const pair = await pairWithRecords();
    await pair.primary.kill();
    const ends = ['--old', pair.primary.url, '--new', pair.replica.url, '--public', pair.proxy.url];
    const child = pair.start([
      ...['-s', pair.store, 'failover', 'promote', '--state', pair.folder, ...ends, '--mark-failed'],
    ]);
    const gone = new Promise((resolve) => {
      child.once('close', resolve);
    });
    // The instant is what is tried: after so many of its remarks, and a little later each time.
    await new Promise<void>((resolve) => {
      let lines = 0;
      child.stderr.on('data', (piece: Buffer) => {
        lines += piece.toString('utf8').split('\n').length - 1;
        if (lines >= round) resolve();
      });
      child.once('close', () => resolve());
      if (round === 0) resolve();
    });
    await sleep(round * 3);
    child.kill('SIGKILL');
    await gone;
    if (child.signalCode === 'SIGKILL') countFigures('kills', [['failovers', 1]]);

    carriedOut(await pair.failover('promote', '--mark-failed'));
    await expectFailedOver(pair);
    await Promise.all([pair.replica.kill(), pair.proxy.kill()]);
  }
});

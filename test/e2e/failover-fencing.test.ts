import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { snapshotOf } from '../contract/snapshot.ts';
import { collect } from '../support/collect.ts';
import type { ManagedProcess } from '../support/managed-process.ts';
import { startManaged } from '../support/managed-process.ts';
import { rowOf } from '../support/row.ts';
import type { Pair } from '../support/served-pair.ts';
import { ask, carriedOut, put, startPair } from '../support/served-pair.ts';
import { SERVED_STORES } from '../support/served-stores.ts';

/** Loaded by a process whose clock is to be wrong. */
const CLOCK_AHEAD = {
  NODE_OPTIONS: `--import=${new URL('../support/clock-ahead.mjs', import.meta.url).href}`,
};

const HOUR_MS = 3_600_000;

/** A task that a holder has claimed, through the proxy. */
async function claimedTask(worker: ManagedProcess, taskId: string, holder: string, ttlMs?: number) {
  await worker.tasks('create', { taskId, title: 'work' });
  const claim = await worker.runs('claim', { taskId, holder, ...(ttlMs === undefined ? {} : { ttlMs }) });
  if (claim.outcome !== 'claimed') throw new Error(claim.reason);
  return { taskId, runId: claim.run_id, fence: claim.fence, expiresAt: Date.parse(claim.expires_at) };
}

function submitted(ledger: Ledger) {
  return collect(ledger.read({ type: 'run.submitted' }));
}

/** Every byte of a SQLite store, or everything that another store tells. */
async function everythingIn({ store }: Pair): Promise<string> {
  if (!store.startsWith('sqlite:')) {
    await using ledger = await openLedger(store, { readOnly: true });
    return JSON.stringify(await snapshotOf(ledger));
  }
  const path = store.slice('sqlite:'.length);
  const files = [path, `${path}-wal`].filter((file) => existsSync(file));
  return files.map((file) => createHash('sha256').update(readFileSync(file)).digest('hex')).join(' ');
}

async function failOver(pair: Pair, ...more: readonly string[]): Promise<void> {
  carriedOut(await pair.failover('promote', '--mark-failed', ...more));
}

describe.each(SERVED_STORES)('fences across processes on $name', ({ url }) => {
  test('X1, X2, X3 and X4 hold through the proxy, and after a restart of every process', async () => {
    const pair = await startPair(await url());
    const worker = await startManaged(pair.proxy.url);
    const { expiresAt: _, ...held } = await claimedTask(worker, 'task-1', 'h-1');
    await pair.primary.kill();
    await failOver(pair);
    const step = { ...held, idempotencyKey: 'task-1:step-0', value: { rows: 3 } };

    expect(await worker.runs('submit', step)).toMatchObject({ reason: 'stale_fence', offered: held.fence });
    expect(await worker.runs('refresh', { runId: held.runId, holder: 'h-2' })).toMatchObject({
      reason: 'not_holder',
    });
    const fresh = await worker.runs('refresh', { runId: held.runId, holder: 'h-1' });
    if (fresh.outcome !== 'refreshed') throw new Error(fresh.reason);
    const again = { ...step, fence: fresh.fence };
    const applied = { outcome: 'applied', value: { rows: 3 } };
    expect(await worker.runs('submit', again)).toEqual({ ...applied, replayed: false });
    expect(await worker.runs('submit', again)).toEqual({ ...applied, replayed: true });
    expect(await worker.runs('submit', { ...again, value: 4 })).toMatchObject({
      reason: 'idempotency_conflict',
    });

    await Promise.all([pair.replica.stop(), pair.proxy.stop()]);
    await pair.startNode('replica', { port: pair.replica.port });
    await pair.startProxy(pair.proxy.port);
    const later = await startManaged(pair.proxy.url);
    expect(await later.runs('submit', again)).toEqual({ ...applied, replayed: true });
    await using ledger = await openLedger(pair.store);
    expect((await submitted(ledger)).map(({ event }) => event.epoch)).toEqual([2]);
  });

  /** A task that is held, one that is free, and a row that a heal would change. */
  async function worthWriting(pair: Pair, worker: ManagedProcess) {
    const { expiresAt: _, ...held } = await claimedTask(worker, 'task-1', 'h-1');
    await worker.tasks('create', { taskId: 'task-2', title: 'free' });
    await using ledger = await openLedger(pair.store);
    await ledger.append([{ type: 'run.started', run_id: 'r-9', task_id: 't-9' }]);
    await ledger.rows.put([rowOf('t-9', { status: 'failed' })]);
    await ledger.append([{ type: 'run.settled', run_id: 'r-9', state: 'succeeded' }]);
    return held;
  }

  test('X5 an old primary that wakes up carries out nothing that waited for it, and the store keeps every byte', async () => {
    const pair = await startPair(await url());
    await pair.primary.kill();
    const old = await pair.startNode('primary', { port: pair.primary.port, folder: pair.path('.') });
    const held = await worthWriting(pair, await startManaged(pair.proxy.url));
    old.child.kill('SIGSTOP');
    const post = (path: string, body: object) => ask(old.url, path, { ...SWEEP, body: JSON.stringify(body) });
    const run = `/v1/runs/${held.runId}`;
    const fenced = { fence: held.fence };
    const late = [
      post('/v1/events', { events: [{ type: 'run.started', run_id: 'r-10', task_id: 't-10' }] }),
      post('/v1/claims', { holder: 'late' }),
      post(`${run}/heartbeat`, fenced),
      post(`${run}/submit`, { ...fenced, task_id: 'task-1', idempotency_key: 'k', value: 1 }),
      post('/v1/jobs/backfill', {}),
      ask(old.url, '/records/r-1', { method: 'PUT', body: 'late' }),
    ];
    await failOver(pair, '--force-fence');
    const before = await everythingIn(pair);
    old.child.kill('SIGCONT');

    const answers = await Promise.all(late);

    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503, 503]);
    // Which of the two depends on whether the node has noticed that its epoch is over.
    expect(answers.filter(({ body }) => !/stale_epoch|read.only/.test(body))).toEqual([]);
    expect(await everythingIn(pair)).toBe(before);
    expect(await put(pair.proxy.url, 'r-1', 'new')).toBe(204);
  });

  test('X5 a process that held the store open itself is refused by the store: append, claim, heartbeat, submit, heal', async () => {
    const pair = await startPair(await url());
    const old = await startManaged(pair.store);
    const held = await worthWriting(pair, old);
    await pair.primary.kill();
    await failOver(pair);
    const before = await everythingIn(pair);
    const stale = { reason: 'stale_epoch', offered: 1, current: 2 };
    const { runId, fence } = held;

    await expect(old.append([{ type: 'run.started', run_id: 'r-10', task_id: 't-10' }])).rejects.toThrow(
      'stale_epoch',
    );
    expect(await old.runs('claim', { holder: 'late' })).toMatchObject({ outcome: 'none', ...stale });
    expect(await old.runs('heartbeat', { runId, fence })).toMatchObject({ outcome: 'refused', ...stale });
    expect(await old.runs('submit', { ...held, idempotencyKey: 'k', value: 1 })).toMatchObject({
      outcome: 'refused',
      ...stale,
    });
    await expect(old.backfill()).rejects.toThrow('stale_epoch');
    expect(await everythingIn(pair)).toBe(before);
  });

  test('X7 a failover in the middle of 1,000 submits from 4 processes doubles and loses none', async () => {
    const STEPS = 250;
    const pair = await startPair(await url());
    const workers = await Promise.all(['a', 'b', 'c', 'd'].map(() => startManaged(pair.proxy.url)));
    const held = await Promise.all(
      workers.map((worker, index) => claimedTask(worker, `task-${index}`, `h-${index}`)),
    );
    const stepsOf = (index: number, fence: number) =>
      Array.from({ length: STEPS }, (_, step) => {
        const { taskId, runId } = held[index] ?? { taskId: '', runId: '' };
        return { taskId, runId, fence, idempotencyKey: `${taskId}:${step}`, value: { step } };
      });
    let answered = 0;
    let isMiddle: () => void = () => undefined;
    const middle = new Promise<void>((resolve) => {
      isMiddle = resolve;
    });
    const submitAll = (fences: readonly number[]) =>
      Promise.all(
        workers.flatMap((worker, index) =>
          stepsOf(index, fences[index] ?? 0).map(async (step) => {
            const answer = await worker.runs('submit', step);
            answered += 1;
            if (answered === 300) isMiddle();
            return { key: step.idempotencyKey, answer };
          }),
        ),
      );

    const first = submitAll(held.map(({ fence }) => fence));
    await middle;
    await pair.primary.kill();
    await failOver(pair);
    const answers = await first;
    await using ledger = await openLedger(pair.store);
    const early = await submitted(ledger);
    const acknowledged = answers.filter(({ answer }) => answer.outcome === 'applied').map(({ key }) => key);
    const refused = answers.filter(({ answer }) => answer.outcome === 'refused');

    expect(acknowledged.length).toBeGreaterThan(200);
    expect(refused.length).toBeGreaterThan(200);
    expect(acknowledged.length + refused.length).toBe(4 * STEPS);
    expect(
      refused.filter(({ answer }) => answer.outcome === 'refused' && answer.reason !== 'stale_fence'),
    ).toEqual([]);
    const keysOf = (events: typeof early) => events.map(({ event }) => String(event['idempotency_key']));
    expect(new Set(keysOf(early)).size).toBe(early.length);
    expect(acknowledged.filter((key) => !keysOf(early).includes(key))).toEqual([]);
    // Nothing came in under an old fence once the new epoch had begun.
    expect(early.filter(({ event }) => event.epoch !== 1)).toEqual([]);

    const fences = await Promise.all(
      workers.map(async (worker, index) => {
        const fresh = await worker.runs('refresh', { runId: held[index]?.runId ?? '', holder: `h-${index}` });
        return fresh.outcome === 'refreshed' ? fresh.fence : 0;
      }),
    );
    const second = await submitAll(fences);

    expect(second.filter(({ answer }) => answer.outcome !== 'applied')).toEqual([]);
    const replayed = second.filter(({ answer }) => answer.outcome === 'applied' && answer.replayed);
    expect(replayed.map(({ key }) => key).sort()).toEqual(keysOf(early).sort());
    const all = await submitted(ledger);
    expect(all).toHaveLength(4 * STEPS);
    expect(new Set(keysOf(all)).size).toBe(4 * STEPS);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  });

  test('X8 a holder that slept through its lease finds its fence stale, through the proxy', async () => {
    const pair = await startPair(await url());
    const sleeper = await startManaged(pair.proxy.url);
    const next = await startManaged(pair.proxy.url);
    const { expiresAt: _, ...mine } = await claimedTask(sleeper, 'task-1', 'sleeper', 50);
    const step = { ...mine, idempotencyKey: 'step' };
    sleeper.signal('SIGSTOP');
    // In flight: the line waits in the pipe until the holder goes on.
    const late = sleeper.runs('submit', { ...step, value: 'late' });
    await expect
      .poll(async () => (await ask(pair.proxy.url, '/v1/jobs/sweep', SWEEP)).body, { timeout: 30_000 })
      .toContain('"requeued":["task-1"]');
    const other = await next.runs('claim', { taskId: 'task-1', holder: 'next' });
    if (other.outcome !== 'claimed') throw new Error(other.reason);
    const theirs = { ...step, runId: other.run_id, fence: other.fence, value: 'theirs' };
    expect(await next.runs('submit', theirs)).toMatchObject({ outcome: 'applied', replayed: false });
    sleeper.signal('SIGCONT');

    expect(await late).toMatchObject({ reason: 'stale_fence', offered: mine.fence, current: other.fence });
    await using ledger = await openLedger(pair.store);
    expect((await submitted(ledger)).map(({ event }) => event['value'])).toEqual(['theirs']);
  });

  test('X9 a holder whose clock is two hours ahead gets, keeps and loses its lease by the clock of the store', async () => {
    const pair = await startPair(await url());
    const ahead = await startManaged(pair.proxy.url, CLOCK_AHEAD);
    const claimedAt = Date.now();

    const { expiresAt, ...held } = await claimedTask(ahead, 'task-1', 'ahead', 60_000);
    const beat = await ahead.runs('heartbeat', { runId: held.runId, fence: held.fence });

    expect(expiresAt - claimedAt).toBeLessThan(HOUR_MS);
    if (beat.outcome !== 'extended') throw new Error(beat.reason);
    expect(Date.parse(beat.expires_at) - claimedAt).toBeLessThan(HOUR_MS);
    expect(await ahead.runs('reclaim', { taskId: 'task-1', runId: held.runId })).toMatchObject({
      outcome: 'reclaimed',
    });
    const other = await startManaged(pair.proxy.url);
    const next = await other.runs('claim', { taskId: 'task-1', holder: 'other' });
    if (next.outcome !== 'claimed') throw new Error(next.reason);
    expect(
      await ahead.runs('complete', {
        taskId: 'task-1',
        runId: held.runId,
        fence: held.fence,
        result: 'late',
      }),
    ).toMatchObject({ reason: 'stale_fence', current: next.fence });
  });
});

describe.each(SERVED_STORES.filter(({ name }) => name === 'PostgreSQL'))(
  'hosts of one ledger on $name',
  ({ url }) => {
    test('X9 a node whose clock is two hours ahead steals no lease: the clock is that of the database', async () => {
      const pair = await startPair(await url());
      const worker = await startManaged(pair.proxy.url);
      const { expiresAt: _, ...held } = await claimedTask(worker, 'task-1', 'h-1', 60_000);
      await pair.primary.kill();
      const ahead = await pair.startNode('primary', { port: pair.primary.port, env: CLOCK_AHEAD });

      const swept = await ask(ahead.url, '/v1/jobs/sweep', SWEEP);
      const through = await startManaged(ahead.url);
      const claim = await through.runs('claim', { taskId: 'task-1', holder: 'thief' });
      const beat = await through.runs('heartbeat', { runId: held.runId, fence: held.fence });

      expect(JSON.parse(swept.body)).toMatchObject({ requeued: [] });
      expect(claim).toMatchObject({ outcome: 'none', reason: 'in_flight' });
      if (beat.outcome !== 'extended') throw new Error(beat.reason);
      expect(Date.parse(beat.expires_at) - Date.now()).toBeLessThan(HOUR_MS);
      await using ledger = await openLedger(pair.store);
      expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: [] });
      expect(await worker.runs('complete', { ...held, result: 'done' })).toMatchObject({
        outcome: 'completed',
      });
    });
  },
);

const SWEEP: RequestInit = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{}',
};

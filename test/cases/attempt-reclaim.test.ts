import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJournals } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Desk } from '../support/managed.ts';
import { heldBy, MANAGING_STORES, openDeskWithTask } from '../support/managed.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';

/** What nobody may be given while a run holds the task. */
async function isHeld(desk: Desk, runId: string): Promise<void> {
  for (const claim of [{ holder: 'next' }, { holder: 'next', taskId: 't-1' }])
    expect((await desk.ledger.runs.claim(claim)).outcome).toBe('none');
  expect(await desk.task('t-1')).toMatchObject({ status: 'running', current_run_id: runId });
}

describe.each(MANAGING_STORES)('zombies, duplicates and reclaims, on $name', (kind) => {
  test('F-13: a slow worker that lives keeps its task over ten leases, and is signalled by nobody', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    desk.processes.start(42);
    const run = await desk.claim('t-1', { pid: 42 });
    for (let lease = 0; lease < 10; lease += 1) {
      desk.clock.advance(16 * 60_000);
      expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: [], extended: ['t-1'] });
      await isHeld(desk, run.run_id);
    }

    expect(desk.processes.signals).toEqual([]);
    const extended = await desk.events('t-1', 'claim.extended');
    expect(extended).toMatchObject(Array(10).fill({ run_id: run.run_id, reason: 'process_alive' }));
    expect(await ledger.runs.complete({ ...heldBy(run), result: 'done' })).toMatchObject({
      outcome: 'completed',
    });
  });

  test('F-14: a living worker that makes no progress is shown with its last sign of life, and stopped once a person says so', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    desk.processes.start(42);
    const run = await desk.claim('t-1', { pid: 42 });
    await ledger.runs.heartbeat(heldBy(run));
    const heard = desk.clock.now();
    desk.clock.advance(3_601_000);
    await createReconciler(ledger).sweep();

    // An extension is no sign of life.
    expect(await ledger.leases.running()).toMatchObject([
      { process: 'alive', lease: { run_id: run.run_id, heartbeat_at_ms: heard } },
    ]);
    expect(
      await ledger.runs.reclaim({ taskId: 't-1', runId: run.run_id, reason: 'no progress' }),
    ).toMatchObject({
      outcome: 'reclaimed',
    });

    expect(desk.processes.signals).toEqual(['SIGTERM 42']);
    expect(await ledger.runs.list('t-1')).toMatchObject([
      { outcome: 'reclaimed', error: 'manual_reclaim: no progress' },
    ]);
  });

  test('F-15 and F-16: a worker that no signal ends keeps its task through every tick and another reclaim', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    desk.processes.start(42);
    desk.processes.onSignal = () => true;
    const run = await desk.claim('t-1', { pid: 42, ttlMs: 1000 });
    const reclaim = () => ledger.runs.reclaim({ taskId: 't-1', runId: run.run_id });

    for (let attempt = 1; attempt <= 2; attempt += 1) {
      expect(await reclaim()).toMatchObject({ outcome: 'refused', reason: 'worker_survived' });
      expect(await desk.events('t-1', 'claim.deferred')).toHaveLength(attempt);
      for (let tick = 0; tick < 3; tick += 1) {
        expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: [] });
        await isHeld(desk, run.run_id);
        desk.clock.advance(60_001);
      }
    }

    expect(await desk.events('t-1', 'run.started')).toHaveLength(1);
    desk.processes.onSignal = () => false;
    expect(await reclaim()).toMatchObject({ outcome: 'reclaimed' });
  });

  test('F-17 and F-28: a worker of another host is never signalled; it keeps its task while it is heard of, and its loss is told with its name', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const elsewhere = { pid: 42, started_at_ticks: 7, boot_id: 'boot-of-another-host' };
    desk.processes.start(42);
    const run = await desk.claim('t-1', { holder: 'old-name:42', process: elsewhere });
    for (let beat = 0; beat < 5; beat += 1) {
      desk.clock.advance(14 * 60_000);
      expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: [] });
      await ledger.runs.heartbeat(heldBy(run));
    }
    await isHeld(desk, run.run_id);
    desk.clock.advance(16 * 60_000);

    expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: ['t-1'] });

    expect(desk.processes.signals).toEqual([]);
    expect(await desk.events('t-1', 'claim.reclaimed')).toMatchObject([
      { run_id: run.run_id, prev_holder: 'old-name:42', reason: 'lease_expired', manual: false },
    ]);
    expect(await desk.task('t-1')).toMatchObject({ status: 'ready', consecutive_failures: 1 });
  });

  test('F-18: a task is taken from a living worker, and goes on after a block, by a reclaim first: the worker is gone before the next one starts', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    desk.processes.start(42);
    const run = await desk.claim('t-1', { pid: 42 });

    await ledger.runs.reclaim({ taskId: 't-1', runId: run.run_id, reason: 'to be blocked' });
    await ledger.tasks.block({ taskId: 't-1', reason: 'wait for the review' });
    await ledger.tasks.unblock({ taskId: 't-1' });
    await desk.claim('t-1');

    expect(desk.processes.signals).toEqual(['SIGTERM 42']);
    expect((await desk.events('t-1')).map(({ type }) => type)).toEqual([
      'task.created',
      'run.started',
      'claim.reclaimed',
      'run.started',
      'task.blocked',
      'task.unblocked',
      'run.started',
    ]);
  });

  test.each([
    ['blocks', (desk: Desk) => desk.ledger.tasks.block({ taskId: 't-1', reason: 'wait' })],
    ['cancels', (desk: Desk) => desk.ledger.tasks.cancel({ taskId: 't-1', reason: 'not wanted' })],
    ['archives', (desk: Desk) => desk.ledger.tasks.archive({ taskId: 't-1' })],
  ])(
    'F-18, F-19 and F-30: an operator %s a task between its claim and the start of its worker: the worker is refused at its first word',
    async (_what, act) => {
      const { desk, ledger } = await openDeskWithTask(kind);
      desk.processes.start(42);
      const run = await desk.claim('t-1', { pid: 42 });
      await act(desk);
      const before = await desk.everything();

      const answers = [
        await ledger.runs.heartbeat(heldBy(run)),
        await ledger.runs.push({ ...heldBy(run), state: 'working' }),
        await ledger.runs.refresh({ runId: run.run_id, holder: 'worker' }),
        await ledger.runs.submit({ ...heldBy(run), idempotencyKey: 'step-1', value: 'x' }),
        await ledger.runs.complete({ ...heldBy(run), result: 'pushed' }),
      ];

      expect(answers.map(({ outcome }) => outcome)).toEqual(Array(5).fill('refused'));
      expect(await desk.everything()).toBe(before);
      // Only a reclaim signals; who it was that may still be working is told by the start of the run.
      expect(desk.processes.signals).toEqual([]);
      const [started] = await desk.events('t-1', 'run.started');
      expect(started).toMatchObject({ run_id: run.run_id, claim: { process: { pid: 42 } } });
      expect(await ledger.leases.running()).toEqual([]);
    },
  );

  test('F-19: of two who archive one task one does it, and there is one event', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const run = await desk.claim('t-1');

    const answers = await Promise.all([1, 2].map(() => ledger.tasks.archive({ taskId: 't-1' })));

    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['archived', 'refused']);
    expect(await desk.events('t-1', 'task.archived')).toMatchObject([{ run_id: run.run_id }]);
  });

  test('F-20: the process of a completed run can be found for ever, and is left to whoever started it', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const identity = desk.processes.start(42);
    const run = await desk.claim('t-1', { pid: 42 });
    await ledger.runs.complete({ ...heldBy(run), result: 'done' });
    desk.clock.advance(121_000);
    await createReconciler(ledger).sweep();

    expect(desk.processes.signals).toEqual([]);
    const [started] = await desk.events('t-1', 'run.started');
    expect(started).toMatchObject({ run_id: run.run_id, claim: { process: identity } });
    expect(await ledger.runs.reclaim({ taskId: 't-1', runId: run.run_id })).toMatchObject({
      outcome: 'refused',
      reason: 'not_running',
    });
    expect(desk.processes.signals).toEqual([]);
  });

  test('F-23: no way back to ready leaves a lock behind, and a fresh claim is cleared by no sweep', async () => {
    const { desk, ledger, exit } = await openDeskWithTask(kind, { maxRetries: 99 });
    const ways = [
      async () => exit(await desk.claim('t-1'), { kind: 'code', code: 1 }),
      async () => exit(await desk.claim('t-1'), { kind: 'code', code: 75 }),
      async () => ledger.runs.reclaim({ taskId: 't-1', runId: (await desk.claim('t-1')).run_id }),
      async () => {
        await desk.claimAndBlock('t-1', 'capability');
        return ledger.tasks.unblock({ taskId: 't-1' });
      },
      async () => {
        await desk.claim('t-1', { ttlMs: 1000 });
        desk.clock.advance(600_000);
        return createReconciler(ledger).sweep();
      },
    ];
    for (const back of ways) {
      await back();
      expect(await desk.task('t-1')).toMatchObject({ status: 'ready', current_run_id: null });
      expect(await ledger.leases.running()).toEqual([]);
    }

    const fresh = await desk.claim('t-1');
    expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: [] });
    expect(await ledger.leases.requeueOrphan('t-1')).toMatchObject({ reason: 'not_running' });
    await isHeld(desk, fresh.run_id);
  });

  test('F-26 and F-27: silence counts, so it ends by itself, and one success forgets it', async () => {
    const { desk, ledger } = await openDeskWithTask(kind, { maxRetries: 3 });
    const reports = [];
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await desk.claim('t-1', { ttlMs: 1000 });
      desk.clock.advance(600_000);
      reports.push(await createReconciler(ledger).sweep());
    }

    expect(reports).toMatchObject([{ requeued: ['t-1'] }, { requeued: ['t-1'] }, { gave_up: ['t-1'] }]);
    expect(await desk.task('t-1')).toMatchObject({ status: 'blocked', consecutive_failures: 3 });
    expect((await desk.events('t-1')).slice(-2)).toMatchObject([
      { type: 'claim.reclaimed', reason: 'lease_expired' },
      { type: 'task.gave_up', trigger_outcome: 'reclaimed', failures: 3, effective_limit: 3 },
    ]);
    await ledger.tasks.unblock({ taskId: 't-1' });
    const run = await desk.claim('t-1');
    await ledger.runs.complete({ ...heldBy(run), result: 'done' });
    expect(await desk.task('t-1')).toMatchObject({ status: 'completed', consecutive_failures: 0 });
  });

  test('F-31: what a worker had handed in when its task was taken away is kept for people', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const directory = mkdtempSync(join(tmpdir(), 'custody-reclaim-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const journals = openJournals(directory, { clock: desk.clock });
    const run = await desk.claim('t-1');
    const { pending } = await journals.write({ taskId: 't-1', runId: run.run_id, result: 'half of it' });
    const written = readFileSync(pending, 'utf8');
    await ledger.runs.reclaim({ taskId: 't-1', runId: run.run_id, reason: 'stuck' });

    const report = await createReconciler(ledger, { journals: [journals] }).sweep();

    expect(report).toMatchObject({ journals: { applied: 0, stale: 1, conflict: 0, retry: 0 } });
    const [kept, ...others] = readdirSync(directory);
    expect(others).toEqual([]);
    expect(kept).toMatch(/\.conflict-/);
    expect(readFileSync(join(directory, kept ?? ''), 'utf8')).toBe(written);
    expect(await desk.task('t-1')).toMatchObject({ status: 'ready', completed_run_id: null });
  });
});

const SQLITE = MANAGING_STORES.filter((kind) => kind.name === 'sqlite');

test.each(SQLITE)(
  'F-24: a task that somebody left running under no lease comes back once, with its run closed, and is nobody’s failure',
  async (kind) => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const run = await desk.claim('t-1');
    const raw = openRawSqlite(join(desk.directory ?? '', 'custody.db'));
    raw.exec('update lease set is_open = 0');
    raw.close();

    const reports = [await createReconciler(ledger).sweep(), await createReconciler(ledger).sweep()];

    expect(reports).toMatchObject([{ requeued: ['t-1'] }, { requeued: [] }]);
    expect(await desk.events('t-1', 'claim.reclaimed')).toMatchObject([
      { run_id: run.run_id, reason: 'orphaned_running', counts: false, manual: false },
    ]);
    expect(await desk.task('t-1')).toMatchObject({
      status: 'ready',
      current_run_id: null,
      consecutive_failures: 0,
      runs: [{ run_id: run.run_id, outcome: 'reclaimed' }],
    });
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  },
);

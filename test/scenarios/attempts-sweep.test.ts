import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJournals } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import { COMMANDED_STORES, openDesk } from '../support/managed.ts';

describe.each(COMMANDED_STORES)('sweeps of leases on $name', (kind) => {
  async function deskWithTask(options: { readonly maxRetries?: number } = {}) {
    const desk = await openDesk(kind);
    await desk.ledger.tasks.create({ taskId: 't-1', title: 'work', ...options });
    return { desk, ledger: desk.ledger, reconciler: createReconciler(desk.ledger) };
  }

  test('an expired lease without a process is released, and its failure is counted', async () => {
    const { desk, reconciler } = await deskWithTask();
    const r1 = await desk.claim('t-1', { ttlMs: 1000 });
    desk.clock.advance(6000);

    expect(await reconciler.sweep()).toMatchObject({ requeued: ['t-1'] });

    expect(await desk.task('t-1')).toMatchObject({
      status: 'ready',
      current_run_id: null,
      consecutive_failures: 1,
      runs: [{ run_id: r1.run_id, outcome: 'reclaimed', error: 'stale_lease holder=worker' }],
    });
    expect(await reconciler.sweep()).toMatchObject({ requeued: [] });
  });

  test('a lease that has not run out by the store is left alone', async () => {
    const { desk, reconciler } = await deskWithTask();
    await desk.claim('t-1', { ttlMs: 60_000 });
    desk.clock.advance(60_000);
    const before = await desk.everything();

    expect(await reconciler.sweep()).toMatchObject({ requeued: [] });
    expect(await desk.everything()).toBe(before);
  });

  test('a run that reported just now is left alone although its lease ran out', async () => {
    const { desk, ledger, reconciler } = await deskWithTask();
    const r1 = await desk.claim('t-1', { ttlMs: 1000 });
    await ledger.runs.push({ runId: r1.run_id, fence: r1.fence, state: 'working' });
    desk.clock.advance(5000);
    expect(await reconciler.sweep()).toMatchObject({ requeued: [] });

    desk.clock.advance(1);
    expect(await reconciler.sweep()).toMatchObject({ requeued: ['t-1'] });
  });

  test('U-17 a living process keeps its task: the expired lease is extended, nobody is signalled', async () => {
    const { desk, ledger, reconciler } = await deskWithTask();
    desk.processes.start(42);
    const r1 = await desk.claim('t-1', { ttlMs: 60_000, pid: 42 });
    desk.clock.advance(90_000);

    expect(await reconciler.sweep()).toMatchObject({ requeued: [], extended: ['t-1'] });

    expect(desk.processes.signals).toEqual([]);
    const [running] = await ledger.leases.running();
    expect(running?.lease).toMatchObject({ run_id: r1.run_id, expires_at_ms: desk.clock.now() + 60_000 });
    expect((await desk.task('t-1')).consecutive_failures).toBe(0);
  });

  test('U-21 U-22 a run whose process is gone is closed as crashed, also before its lease ran out', async () => {
    const { desk, reconciler } = await deskWithTask();
    desk.processes.start(42);
    await desk.claim('t-1', { pid: 42 });
    desk.processes.end(42);
    // The pid belongs to another process by now: it proves nothing.
    desk.processes.start(42);

    expect(await reconciler.sweep()).toMatchObject({ requeued: ['t-1'] });
    expect(await desk.task('t-1')).toMatchObject({
      status: 'ready',
      consecutive_failures: 1,
      runs: [{ outcome: 'crashed', error: 'pid 42 not alive' }],
    });
  });

  test('U-01 every attempt keeps its own end', async () => {
    const { desk, ledger, reconciler } = await deskWithTask({ maxRetries: 5 });
    await desk.claim('t-1', { ttlMs: 1000 });
    desk.clock.advance(10_000);
    await reconciler.sweep();
    desk.processes.start(42);
    await desk.claim('t-1', { pid: 42 });
    desk.processes.end(42);
    await reconciler.sweep();
    const r3 = await desk.claim('t-1');
    await ledger.runs.complete({ taskId: 't-1', runId: r3.run_id, fence: r3.fence, result: 'finally' });

    expect((await ledger.runs.list('t-1')).map((run) => run.outcome)).toEqual([
      'reclaimed',
      'crashed',
      'completed',
    ]);
    expect((await desk.task('t-1')).current_run_id).toBeNull();
  });

  test('F-25 a task that is claimed and never finished is blocked after two releases', async () => {
    const { desk, reconciler } = await deskWithTask();
    for (let round = 1; round <= 2; round += 1) {
      await desk.claim('t-1', { ttlMs: 1000 });
      desk.clock.advance(10_000);
      expect(await reconciler.sweep()).toMatchObject(
        round === 1 ? { requeued: ['t-1'] } : { requeued: [], gave_up: ['t-1'] },
      );
    }

    expect(await desk.task('t-1')).toMatchObject({ status: 'blocked', consecutive_failures: 2 });
    const [gaveUp] = await desk.events('t-1', 'task.gave_up');
    expect(gaveUp).toMatchObject({
      failures: 2,
      effective_limit: 2,
      limit_source: 'ledger',
      trigger_outcome: 'reclaimed',
    });
  });

  test('D-20 a result that waits in a journal is applied before the lease of its run is released', async () => {
    const { desk, ledger } = await deskWithTask();
    const directory = mkdtempSync(join(tmpdir(), 'custody-sweep-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const journals = openJournals(directory, { clock: desk.clock });
    const r1 = await desk.claim('t-1', { ttlMs: 1000 });
    await journals.write({ taskId: 't-1', runId: r1.run_id, result: 'done before the crash' });
    desk.clock.advance(10_000);

    const report = await createReconciler(ledger, { journals: [journals] }).sweep();

    expect(report).toMatchObject({
      requeued: [],
      journals: { applied: 1, stale: 0, conflict: 0, retry: 0, errors: [] },
    });
    expect(await desk.task('t-1')).toMatchObject({ status: 'completed', completed_run_id: r1.run_id });
  });

  test('a dry run tells what would be requeued and changes nothing', async () => {
    const { desk, reconciler } = await deskWithTask();
    await desk.claim('t-1', { ttlMs: 1000 });
    desk.clock.advance(10_000);
    const before = await desk.everything();

    expect(await reconciler.sweep({ dryRun: true })).toMatchObject({ requeued: ['t-1'] });
    expect(await desk.everything()).toBe(before);
  });

  test('Q7 a claim takes over from a holder that is gone, but neither from a fresh nor from a reporting run', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claim('t-1', { ttlMs: 1000 });
    desk.clock.advance(119_000);
    expect(await ledger.runs.claim({ holder: 'other' })).toMatchObject({
      outcome: 'none',
      reason: 'nothing_claimable',
    });
    await ledger.runs.push({ runId: r1.run_id, fence: r1.fence, state: 'working' });
    desk.clock.advance(3000);
    expect(await ledger.runs.claim({ holder: 'other', taskId: 't-1' })).toMatchObject({
      outcome: 'none',
      reason: 'in_flight',
      current_run_id: r1.run_id,
    });

    desk.clock.advance(5000);
    const taken = await ledger.runs.claim({ holder: 'other' });

    expect(taken).toMatchObject({ outcome: 'claimed', task_id: 't-1' });
    expect((await ledger.runs.list('t-1')).map((run) => run.outcome)).toEqual(['stopped', null]);
  });

  test('a managed task that has ended is healed like any other row', async () => {
    const { desk, ledger, reconciler } = await deskWithTask();
    const r1 = await desk.claim('t-1');
    await ledger.append([
      { type: 'run.started', run_id: 'd-1', task_id: 't-1' },
      { type: 'run.started', run_id: 'd-2', task_id: 't-1' },
    ]);
    await ledger.append([{ type: 'run.settled', run_id: 'd-1', state: 'succeeded' }]);
    expect(await reconciler.audit(['t-1'])).toMatchObject({
      tasks: [{ open_attempts: [r1.run_id], audit: { open_run_ids: ['d-2'] } }],
    });
    await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, fence: r1.fence, result: 'done' });
    const counters = {
      delegated_runs_started: 2,
      delegated_runs_settled: 1,
      delegated_runs_succeeded: 1,
      delegated_runs_failed: 0,
      delegated_runs_source_unresolved: 0,
    };
    expect(await desk.row('t-1')).toMatchObject({ status: 'completed', ...counters });

    expect(await reconciler.backfill()).toMatchObject({ refreshed: ['t-1'], failed: [] });
    expect(await desk.row('t-1')).toMatchObject({ delegated_runs_unreconciled: ['d-2'] });
    await ledger.append([{ type: 'run.settled', run_id: 'd-2', state: 'failed' }]);
    expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-1'] });

    // The counters stay what they were when the task ended; the evidence is alive.
    expect(await desk.row('t-1')).toMatchObject({
      ...counters,
      delegated_runs_unreconciled: [],
      actual_substrate: 'harness_used',
    });
    expect(await reconciler.audit(['t-1'])).toMatchObject({ tasks: [{ open_attempts: [], current: true }] });
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  });

  test('the row of a managed task is written by commands only', async () => {
    const { desk, ledger } = await deskWithTask();
    const loaded = await ledger.rows.load('t-1');
    if (loaded === null) throw new Error('no row');
    const { parseTaskRow } = await import('@custody/ledger');

    const forged = parseTaskRow(JSON.stringify({ task_id: 't-1', status: 'completed', notes: 'mine' }));
    expect(await ledger.rows.put([forged])).toEqual([
      { outcome: 'refused', reason: 'row_frozen', task_id: 't-1', fields: ['status'] },
    ]);
    const own = parseTaskRow(JSON.stringify({ task_id: 't-1', status: 'ready', notes: 'mine' }));
    expect(await ledger.rows.put([own])).toMatchObject([{ outcome: 'written' }]);
    await desk.claim('t-1');

    expect(await desk.row('t-1')).toMatchObject({ status: 'running', notes: 'mine' });
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });

  test('nobody but commands starts or ends a managed attempt', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claim('t-1');
    const before = await desk.everything();

    for (const event of [
      { type: 'run.settled', run_id: r1.run_id, state: 'succeeded' },
      { type: 'run.closed_absent', run_id: r1.run_id },
      { type: 'run.started', run_id: r1.run_id, task_id: 't-2' },
      {
        type: 'run.started',
        run_id: 'mine',
        task_id: 't-1',
        role: 'attempt',
        claim: { holder: 'me', ttl_ms: 1 },
      },
      { type: 'task.completed', task_id: 't-1', run_id: r1.run_id, result: 'forged' },
    ]) {
      await expect(ledger.append([event])).rejects.toMatchObject({ code: 'invalid_event' });
    }
    expect(await desk.everything()).toBe(before);
  });
});

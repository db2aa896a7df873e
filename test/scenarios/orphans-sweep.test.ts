import type { Ledger } from '@custody/ledger';
import type { OrphanOptions, RunGateway } from '@custody/reconciler';
import { reconcileOrphans, reconcileTaskRuns } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { requested, settled, started } from '../support/events.ts';
import { AWAY, ended, executor, LIVE } from '../support/executor.ts';
import { failingLedger } from '../support/failing-ledger.ts';
import { eventsOf, typesOf } from '../support/log.ts';
import { putRow } from '../support/terminal-rows.ts';

const nobody: ReadonlySet<string> = new Set();

function sweep(ledger: Ledger, gateway: RunGateway, more: Partial<OrphanOptions> = {}) {
  return reconcileOrphans({ ledger, rows: ledger.rows }, { live: nobody, gateway: () => gateway, ...more });
}

describe.each(STORES)('the orphan sweep on $name', (kind) => {
  test('O1: a run whose owner is alive is not even asked for', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1'), requested('inv-1', 't-1')]);
    const daemon = executor({ 'run-1': ended() });
    const before = await ledger.head();

    const report = await sweep(ledger, daemon, { live: new Set(['t-1']) });

    expect(report).toMatchObject({ outcomes: [], refresh: [], idle: 'nothing_selected' });
    expect(daemon.lookups).toEqual([]);
    expect(daemon.posts).toEqual([]);
    expect(await ledger.head()).toEqual(before);
  });

  test.each([
    ['null', null],
    ['absent', undefined],
    ['a function that does not know', () => null],
    ['a function that fails', () => Promise.reject(new Error('the supervisor is away'))],
  ])('O1: with liveness unknown (%s) nothing is done', async (_title, live) => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const daemon = executor();

    const report = await sweep(ledger, daemon, { live });

    expect(report).toMatchObject({ outcomes: [], idle: 'liveness_unknown' });
    expect(daemon.lookups).toEqual([]);
    expect(await typesOf(ledger)).toEqual(['run.started']);
  });

  test('O1: who is alive is asked after the candidates are known, so a task that starts in between is no orphan', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const daemon = executor({ 'run-1': ended(), 'run-2': ended() });

    const report = await sweep(ledger, daemon, {
      live: async () => {
        // A task that starts while liveness is read, and is not in the answer.
        await ledger.append([started('run-2', 't-2')]);
        return [];
      },
    });

    expect(report.outcomes.map((outcome) => outcome.run_id)).toEqual(['run-1']);
    expect(daemon.lookups).toEqual(['run-1']);
  });

  test('O1: a task that somebody will recover is spared, and unknown recoverability stops the sweep', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1'), started('run-2', 't-2')]);

    const report = await sweep(ledger, executor({ 'run-1': LIVE, 'run-2': LIVE }), { recoverable: ['t-2'] });
    const stopped = await sweep(ledger, executor(), { recoverable: () => null });

    expect(report.outcomes.map((outcome) => outcome.task_id)).toEqual(['t-1']);
    expect(stopped).toMatchObject({ outcomes: [], idle: 'liveness_unknown' });
  });

  test('O2: a run that ended while its owner was gone is settled, with its cost', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const daemon = executor({ 'run-1': ended() });

    const report = await sweep(ledger, daemon);

    expect(report.outcomes).toEqual([
      {
        run_id: 'run-1',
        task_id: 't-1',
        action: 'settle_attempted',
        settled: true,
        ledger_recorded: true,
        project_retired: true,
        project_persistent: false,
      },
    ]);
    expect(report.refresh).toEqual(['t-1']);
    expect(await typesOf(ledger)).toEqual(['run.started', 'run.settled', 'run.reconciled']);
    const [end] = await eventsOf(ledger, 'run.settled');
    expect(end).toMatchObject({
      run_id: 'run-1',
      task_id: 't-1',
      route: 'claude',
      state: 'succeeded',
      cost_usd: 1.25,
      cost_final: true,
      spend_disclosed: true,
      spend_estimated: false,
      model: 'claude-x',
    });
    expect(daemon.isClosed).toBe(true);
  });

  test('O2: a spend that was not disclosed stays unknown, and why a run failed is kept', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const reason = `out of quota\u0000${'\ud800'}${'x'.repeat(5000)}`;

    await sweep(
      ledger,
      executor({
        'run-1': { outcome: 'terminal', detail: { state: 'failed', cost_usd: null, outcome_reason: reason } },
      }),
    );

    const [end] = await eventsOf(ledger, 'run.settled');
    expect(end).toMatchObject({ state: 'failed', cost_usd: null, cost_final: false, spend_disclosed: false });
    expect(end?.['outcome_reason']).toMatch(/^out of quota.*original length 5014\]$/);
  });

  test('a run that its executor does not have is closed as absent', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1', { snapshot_id: 'snap-1' })]);

    const report = await sweep(ledger, executor());

    expect(report.outcomes).toEqual([{ run_id: 'run-1', task_id: 't-1', action: 'absent' }]);
    expect(report.refresh).toEqual(['t-1']);
    expect((await eventsOf(ledger, 'run.closed_absent'))[0]).toMatchObject({ reason: 'reconcile_absent' });
    expect(await ledger.custody.openRuns()).toEqual([]);
  });

  test('O3: without a way to the executor nothing is done and the run stays open', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);

    const none = await sweep(ledger, executor(), { gateway: () => null });
    const broken = await sweep(ledger, executor(), { gateway: () => Promise.reject(new Error('no socket')) });

    expect(none).toMatchObject({ outcomes: [], idle: 'gateway_unavailable', remaining: 1, error: null });
    expect(broken).toMatchObject({
      outcomes: [],
      idle: 'gateway_unavailable',
      remaining: 1,
      error: 'no socket',
    });
    expect(await typesOf(ledger)).toEqual(['run.started']);
    expect((await ledger.custody.openRuns()).map((run) => run.run_id)).toEqual(['run-1']);
  });

  test('8.1: with nothing selected no gateway is built', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1'), settled('run-1')]);
    let built = 0;

    const report = await sweep(ledger, executor(), {
      gateway: () => {
        built += 1;
        return executor();
      },
    });

    expect(report).toMatchObject({ outcomes: [], idle: 'nothing_selected' });
    expect(built).toBe(0);
  });

  test('8.1: the gateway is closed also when it fails throughout, and its failures are unknowns', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    let isClosed = false;

    const report = await sweep(ledger, {
      lookup: () => Promise.reject(new Error('socket hang up')),
      cancel: () => Promise.reject(new Error('socket hang up')),
      resubmit: () => Promise.reject(new Error('socket hang up')),
      close: () => {
        isClosed = true;
        return Promise.reject(new Error('already closed'));
      },
    });

    expect(report.outcomes).toMatchObject([{ run_id: 'run-1', action: 'unreadable' }]);
    expect(isClosed).toBe(true);
  });

  test('an executor that can not be asked raises one fault, which later sweeps do not repeat, and an end closes it', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const daemon = executor({ 'run-1': AWAY });

    const first = await sweep(ledger, daemon);
    const after = await ledger.head();
    const second = await sweep(ledger, daemon);

    expect(first.outcomes).toEqual([{ run_id: 'run-1', task_id: 't-1', action: 'unreadable' }]);
    expect(first.refresh).toEqual([]);
    expect(second.outcomes).toEqual(first.outcomes);
    expect(await ledger.head()).toEqual(after);
    expect(await ledger.custody.openFaults()).toMatchObject([
      {
        run_id: 'run-1',
        task_id: 't-1',
        reason: 'reconcile_unreadable',
        detail: 'ECONNREFUSED: connection refused',
      },
    ]);
    expect((await ledger.custody.openRuns()).map((run) => run.run_id)).toEqual(['run-1']);

    daemon.runs.set('run-1', ended());
    await sweep(ledger, daemon);

    expect(await ledger.custody.openFaults()).toEqual([]);
    expect((await eventsOf(ledger, 'containment.resolved'))[0]).toMatchObject({ reason: 'settled_terminal' });
  });

  test.each([
    [5000, /^x{2000} \[cut here; original length 5000\]$/],
    [2010, /^x{2010}$/],
  ])(
    'F14: a fault keeps a detail of %i characters, cut only with a note that is worth it',
    async (length, kept) => {
      const { ledger } = await kind.open();
      await ledger.append([started('run-1', 't-1')]);

      await sweep(ledger, executor({ 'run-1': { outcome: 'unknown', reason: 'x'.repeat(length) } }));

      expect((await ledger.custody.openFaults())[0]?.detail).toMatch(kept);
    },
  );

  test('O5: a run whose owner crashed is left alone, told once, and never cancelled', async () => {
    const { ledger } = await kind.open();
    await ledger.append([
      started('run-1', 't-1'),
      started('run-2', 't-2'),
      started('run-3', 't-3'),
      started('run-4', 't-4'),
    ]);
    await putRow(ledger, {
      task_id: 't-1',
      status: 'failed',
      outcome_axes: { execution: { status: 'infra_failed' } },
    });
    await putRow(ledger, {
      task_id: 't-2',
      status: 'failed',
      outcome_axes: { execution: { status: 'interrupted' } },
    });
    await putRow(ledger, {
      task_id: 't-3',
      status: 'interrupted',
      outcome_axes: { execution: { status: 'cancelled' } },
    });
    const daemon = executor({ 'run-1': LIVE, 'run-2': LIVE, 'run-3': LIVE, 'run-4': LIVE });

    const first = await sweep(ledger, daemon);
    const after = await ledger.head();
    const second = await sweep(ledger, daemon);

    expect(first.outcomes).toEqual(
      ['1', '2', '3', '4'].map((n) => ({
        run_id: `run-${n}`,
        task_id: `t-${n}`,
        action: 'left_live',
        state: 'running',
      })),
    );
    expect(first.refresh).toEqual([]);
    expect(daemon.cancels).toEqual([]);
    expect(second.outcomes).toEqual(first.outcomes);
    expect(await ledger.head()).toEqual(after);
    expect(await eventsOf(ledger, 'run.reconciled')).toHaveLength(4);
  });

  test('O7: one task is reconciled without touching the runs of others, though its owner is alive', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1'), started('run-2', 't-2'), requested('inv-2', 't-2')]);
    const daemon = executor({ 'run-1': ended(), 'run-2': ended() });

    const report = await reconcileTaskRuns({ ledger, rows: ledger.rows }, 't-1', { gateway: () => daemon });
    const again = await reconcileTaskRuns({ ledger, rows: ledger.rows }, 't-1', { gateway: () => daemon });

    expect(report.outcomes).toMatchObject([{ run_id: 'run-1', action: 'settle_attempted', settled: true }]);
    expect(daemon.lookups).toEqual(['run-1']);
    expect(daemon.posts).toEqual([]);
    expect(again).toMatchObject({ outcomes: [], idle: 'nothing_selected' });
    expect((await ledger.custody.openRuns()).map((run) => run.run_id)).toEqual(['run-2']);
  });

  test('an attempt is no orphan: its end is its lease’s to decide', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1', { role: 'attempt' })]);
    const daemon = executor();

    expect(await sweep(ledger, daemon)).toMatchObject({ outcomes: [], idle: 'nothing_selected' });
    expect(daemon.lookups).toEqual([]);
  });

  test('output that nobody has read is told once when its run is settled, and shown in the outcome', async () => {
    const { ledger } = await kind.open();
    await ledger.append([
      started('run-1', 't-1'),
      {
        type: 'output.spilled',
        run_id: 'run-1',
        staged: true,
        artifact: 'out-1',
        sha256: 'a'.repeat(64),
        full_content: true,
      },
    ]);

    const report = await sweep(ledger, executor({ 'run-1': ended() }));

    expect(report.outcomes).toMatchObject([
      { settled: true, staged_output: 'out-1', staged_output_complete: true, staged_output_consumed: false },
    ]);
    expect((await eventsOf(ledger, 'output.left_unread'))[0]).toMatchObject({
      run_id: 'run-1',
      artifact: 'out-1',
    });
    expect((await ledger.custody.run('run-1'))?.unread_disclosed).toBe(true);
  });

  test('F13: an end that the log does not take has not happened; the next sweep settles the run', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const daemon = executor({ 'run-1': ended() });
    const locked = failingLedger(ledger, (event) => event.type === 'run.settled');

    const lost = await sweep(locked, daemon);

    expect(lost.outcomes).toMatchObject([
      { action: 'settle_attempted', settled: false, ledger_recorded: false },
    ]);
    expect(lost.outcomes[0]?.error).toMatch(/locked/);
    expect(lost.refresh).toEqual([]);
    expect((await ledger.custody.run('run-1'))?.settled).toBe(false);

    const found = await sweep(ledger, daemon);

    expect(found.outcomes).toMatchObject([{ action: 'settle_attempted', settled: true }]);
    expect(await eventsOf(ledger, 'run.settled')).toHaveLength(1);
  });

  test('F13: an absence that the log does not take leaves the run open', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);

    const lost = await sweep(
      failingLedger(ledger, (event) => event.type === 'run.closed_absent'),
      executor(),
    );

    expect(lost.outcomes).toMatchObject([{ run_id: 'run-1', action: 'not_recorded' }]);
    expect(lost.refresh).toEqual([]);
    expect((await ledger.custody.openRuns()).map((run) => run.run_id)).toEqual(['run-1']);
  });

  test('a log that takes nothing any more stops the sweep, which says how much is left', async () => {
    const { ledger } = await kind.open();
    const ids = Array.from({ length: 50 }, (_item, index) => `run-${index}`);
    await ledger.append(ids.map((id) => started(id, `t-${id}`)));

    const stopped = await sweep(
      failingLedger(ledger, (event) => event.type !== 'run.started'),
      executor(),
    );
    const resumed = await sweep(ledger, executor());

    expect(stopped.outcomes.length).toBeLessThan(20);
    expect(stopped.remaining).toBe(50 - stopped.outcomes.length);
    expect(stopped.error).toMatch(/locked/);
    expect(resumed).toMatchObject({ remaining: 0, error: null });
    expect(resumed.outcomes).toHaveLength(50);
  });

  test('an aborted signal begins nothing more', async () => {
    const { ledger } = await kind.open();
    await ledger.append(Array.from({ length: 20 }, (_item, index) => started(`run-${index}`, `t-${index}`)));
    const stop = new AbortController();
    const daemon = executor();
    daemon.beforeLookup = async () => stop.abort();

    const report = await sweep(ledger, daemon, { signal: stop.signal });

    expect(report.outcomes).toHaveLength(1);
    expect(report.remaining).toBe(19);
    expect(daemon.isClosed).toBe(true);
  });
});

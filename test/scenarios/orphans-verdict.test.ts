import type { JsonObject, Ledger } from '@custody/ledger';
import type { CancelAnswer, PatchCapture, RunLookup } from '@custody/reconciler';
import { reconcileOrphans, reconcileTaskRuns } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { requested, started } from '../support/events.ts';
import type { Executor } from '../support/executor.ts';
import { AWAY, ended, executor, LIVE } from '../support/executor.ts';
import { eventsOf } from '../support/log.ts';
import { putRow } from '../support/terminal-rows.ts';

const REVIEW = { source: 'review_substrate:panel' };

function sweep(ledger: Ledger, daemon: Executor) {
  return reconcileOrphans({ ledger, rows: ledger.rows }, { live: [], gateway: () => daemon });
}

/** A row that somebody meant to end so. */
function meant(status: string, execution: string): JsonObject & { readonly task_id: string } {
  return { task_id: 't-1', status, outcome_axes: { execution: { status: execution } } };
}

describe.each(STORES)('a live run behind a deliberate end of its owner, on $name', (kind) => {
  test('O4: a cancelled owner stops its own run and that of its review panel', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-leaf', 't-1'), started('run-review', 't-1', REVIEW)]);
    await putRow(ledger, meant('cancelled', 'cancelled'));
    const daemon = executor({ 'run-leaf': LIVE, 'run-review': LIVE });
    daemon.onCancel = (runId) => daemon.runs.set(runId, ended({ state: 'cancelled' }));

    const report = await sweep(ledger, daemon);

    expect(report.outcomes).toMatchObject([
      { run_id: 'run-leaf', action: 'cancelled', outcome: 'confirmed', settled: true },
      { run_id: 'run-review', action: 'cancelled', outcome: 'confirmed', settled: true },
    ]);
    expect(new Map(daemon.cancels)).toEqual(
      new Map([
        ['run-leaf', 'owner_task_gone'],
        ['run-review', 'owner_task_gone'],
      ]),
    );
    expect(await ledger.custody.openRuns()).toEqual([]);
  });

  test('O4: an owner that failed deliberately stops its run; the review panel keeps its run and its invocation', async () => {
    const { ledger } = await kind.open();
    await ledger.append([
      started('run-leaf', 't-1'),
      started('run-review', 't-1', REVIEW),
      requested('inv-review', 't-1', REVIEW),
    ]);
    await putRow(ledger, meant('failed', 'failed'));
    const daemon = executor({ 'run-leaf': LIVE, 'run-review': LIVE });

    const report = await sweep(ledger, daemon);

    expect(report.outcomes).toMatchObject([
      { run_id: 'run-leaf', action: 'cancelled', outcome: 'requested', settled: false },
      { run_id: 'run-review', action: 'left_live', state: 'running', reason: 'review_panel_owns_run' },
      { invocation_id: 'inv-review', action: 'invocation_retained', reason: 'review_panel_owns_invocation' },
    ]);
    expect(daemon.cancels).toEqual([['run-leaf', 'owner_task_gone']]);
    expect(daemon.posts).toEqual([]);
  });

  test.each(['ok', 'degraded', 'best_effort', 'failed', 'cancelled'])(
    '8.2: the execution axis %s is a verdict',
    async (axis) => {
      const { ledger } = await kind.open();
      await ledger.append([started('run-1', 't-1')]);
      await putRow(ledger, meant(axis === 'cancelled' ? 'cancelled' : 'completed', axis));
      const daemon = executor({ 'run-1': LIVE });

      expect((await sweep(ledger, daemon)).outcomes).toMatchObject([{ action: 'cancelled' }]);
      expect(daemon.cancels).toHaveLength(1);
    },
  );

  test.each<[string, JsonObject]>([
    ['infra_failed', { status: 'failed', outcome_axes: { execution: { status: 'infra_failed' } } }],
    ['interrupted', { status: 'failed', outcome_axes: { execution: { status: 'interrupted' } } }],
    ['axes without an execution', { status: 'failed', outcome_axes: { objective: { status: 'pass' } } }],
    ['axes that are none', { status: 'failed', outcome_axes: 'ok' }],
    [
      'an axis of an unknown name',
      { status: 'completed', outcome_axes: { execution: { status: 'splendid' } } },
    ],
    ['a completed row without axes', { status: 'completed' }],
    [
      'a verdict on a row that has not ended',
      { status: 'running', outcome_axes: { execution: { status: 'cancelled' } } },
    ],
  ])('P16: %s is no verdict, and nothing is stopped', async (_title, fields) => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(ledger, { task_id: 't-1', ...fields });
    const daemon = executor({ 'run-1': LIVE });

    expect((await sweep(ledger, daemon)).outcomes).toMatchObject([{ action: 'left_live' }]);
    expect(daemon.cancels).toEqual([]);
  });

  test.each(['failed', 'cancelled'])('8.2: a row %s without any axes is a verdict', async (status) => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(ledger, { task_id: 't-1', status });

    expect((await sweep(ledger, executor({ 'run-1': LIVE }))).outcomes).toMatchObject([
      { action: 'cancelled' },
    ]);
  });

  test('P16: a row that can not be read is no verdict', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const daemon = executor({ 'run-1': LIVE });
    const rows = { ...ledger.rows, load: () => Promise.reject(new Error('the row is torn')) };

    const report = await reconcileOrphans({ ledger, rows }, { live: [], gateway: () => daemon });

    expect(report.outcomes).toMatchObject([{ action: 'left_live' }]);
    expect(daemon.cancels).toEqual([]);
  });

  test('8.1: a kill caller that has not written its row yet passes its verdict in', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1'), started('run-review', 't-1', REVIEW)]);
    await putRow(ledger, { task_id: 't-1', status: 'running' });
    const daemon = executor({ 'run-1': LIVE, 'run-review': LIVE });

    const report = await reconcileTaskRuns({ ledger, rows: ledger.rows }, 't-1', {
      gateway: () => daemon,
      verdict: 'failed',
    });

    expect(report.outcomes).toMatchObject([
      { run_id: 'run-1', action: 'cancelled' },
      { run_id: 'run-review', action: 'left_live' },
    ]);
    expect(report.refresh).toEqual(['t-1']);
  });
});

interface Stop {
  readonly title: string;
  readonly cancel: CancelAnswer;
  /** What the run is read as after the stop was asked for; undefined = absent. */
  readonly afterwards: RunLookup | undefined;
  readonly outcome: string;
  readonly state: string;
  readonly fault: string | null;
  readonly settled: boolean;
}

const STOPS: readonly Stop[] = [
  {
    title: 'accepted and ended',
    cancel: { outcome: 'accepted' },
    afterwards: ended({ state: 'cancelled' }),
    outcome: 'confirmed',
    state: 'cancelled',
    fault: null,
    settled: true,
  },
  {
    title: 'accepted and ended well all the same',
    cancel: { outcome: 'accepted' },
    afterwards: ended(),
    outcome: 'confirmed',
    state: 'succeeded',
    fault: null,
    settled: true,
  },
  {
    title: 'accepted and still live',
    cancel: { outcome: 'accepted' },
    afterwards: LIVE,
    outcome: 'requested',
    state: 'running',
    fault: null,
    settled: false,
  },
  {
    title: 'accepted and gone',
    cancel: { outcome: 'accepted' },
    afterwards: undefined,
    outcome: 'confirmed',
    state: 'absent',
    fault: null,
    settled: true,
  },
  {
    title: 'accepted and unreadable',
    cancel: { outcome: 'accepted' },
    afterwards: AWAY,
    outcome: 'containment_fault_run_may_still_be_live',
    state: '',
    fault: 'cancel_unverified',
    settled: false,
  },
  {
    title: 'answered 404',
    cancel: { outcome: 'absent' },
    afterwards: LIVE,
    outcome: 'confirmed',
    state: 'absent',
    fault: null,
    settled: true,
  },
  {
    title: 'rejected and still live',
    cancel: { outcome: 'rejected', reason: 'busy' },
    afterwards: LIVE,
    outcome: 'failed',
    state: 'running',
    fault: 'cancel_rejected_run_still_live',
    settled: false,
  },
  {
    title: 'rejected and ended',
    cancel: { outcome: 'rejected' },
    afterwards: ended(),
    outcome: 'confirmed',
    state: 'succeeded',
    fault: null,
    settled: true,
  },
  {
    title: 'unanswered and still live',
    cancel: { outcome: 'unknown', reason: 'timeout' },
    afterwards: LIVE,
    outcome: 'containment_fault_run_may_still_be_live',
    state: 'running',
    fault: 'cancel_unreachable',
    settled: false,
  },
  {
    title: 'unanswered and unreadable',
    cancel: { outcome: 'unknown', reason: 'timeout' },
    afterwards: AWAY,
    outcome: 'containment_fault_run_may_still_be_live',
    state: '',
    fault: 'cancel_unreachable',
    settled: false,
  },
  {
    title: 'unanswered and ended',
    cancel: { outcome: 'unknown', reason: 'timeout' },
    afterwards: ended({ state: 'cancelled' }),
    outcome: 'confirmed',
    state: 'cancelled',
    fault: null,
    settled: true,
  },
];

describe.each(STORES)('a stop on $name', (kind) => {
  test.each(STOPS)(
    '8.5: $title is $outcome',
    async ({ cancel, afterwards, outcome, state, fault, settled }) => {
      const { ledger } = await kind.open();
      await ledger.append([started('run-1', 't-1')]);
      await putRow(ledger, meant('cancelled', 'cancelled'));
      const daemon = executor({ 'run-1': LIVE });
      daemon.cancelAnswers.set('run-1', cancel);
      daemon.onCancel = () =>
        afterwards === undefined ? daemon.runs.delete('run-1') : daemon.runs.set('run-1', afterwards);

      const report = await sweep(ledger, daemon);

      expect(report.outcomes).toMatchObject([{ action: 'cancelled', outcome, state, settled }]);
      expect(report.refresh).toEqual(['t-1']);
      expect((await ledger.custody.run('run-1'))?.settled).toBe(settled);
      expect((await eventsOf(ledger, 'run.cancel_outcome'))[0]).toMatchObject({
        run_id: 'run-1',
        task_id: 't-1',
        outcome,
        state,
      });
      expect((await ledger.custody.openFaults()).map((open) => open.reason)).toEqual(
        fault === null ? [] : [fault],
      );
    },
  );

  test('a fault of an earlier look is resolved when the stop is confirmed', async () => {
    const { ledger } = await kind.open();
    await ledger.append([
      started('run-1', 't-1'),
      { type: 'containment.fault', run_id: 'run-1', reason: 'reconcile_unreadable' },
    ]);
    await putRow(ledger, meant('cancelled', 'cancelled'));
    const daemon = executor({ 'run-1': LIVE });
    daemon.onCancel = () => daemon.runs.delete('run-1');

    await sweep(ledger, daemon);

    expect(await ledger.custody.openFaults()).toEqual([]);
    expect((await eventsOf(ledger, 'containment.resolved'))[0]).toMatchObject({
      reason: 'verified_absent',
    });
  });

  test.each<[string, RunLookup | undefined, boolean]>([
    ['a terminal state that was read lets the snapshot be read', ended({ state: 'cancelled' }), true],
    ['an absence does not: the run may still write', undefined, false],
    ['a stop that was merely accepted does not', LIVE, false],
  ])('8.2: patch capture after a stop: %s', async (_title, afterwards, isCaptured) => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1', { snapshot_id: 'snap-1' })]);
    await putRow(ledger, meant('cancelled', 'cancelled'));
    const daemon = executor({ 'run-1': LIVE });
    daemon.onCancel = () =>
      afterwards === undefined ? daemon.runs.delete('run-1') : daemon.runs.set('run-1', afterwards);
    const captured: string[] = [];
    const patches: PatchCapture = {
      capture: async (run) => {
        captured.push(run.run_id);
        return { capture_id: 'cap-1', files: 3 };
      },
    };

    await reconcileOrphans({ ledger, rows: ledger.rows }, { live: [], gateway: () => daemon, patches });

    expect(captured).toEqual(isCaptured ? ['run-1'] : []);
    expect((await ledger.custody.run('run-1'))?.patch_captured).toBe(isCaptured);
  });
});

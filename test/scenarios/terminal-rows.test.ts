import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { collect } from '../support/collect.ts';
import { requested, settled, started } from '../support/events.ts';
import {
  counters,
  envelopeOf,
  evidenceIn,
  failedRow,
  fingerprint,
  listOf,
  putRow,
  rowOf,
} from '../support/terminal-rows.ts';

const EVIDENCE_TYPES = ['custody.reconciled', 'custody.unreconciled'];

describe.each(STORES)('terminal rows on $name', (kind) => {
  test('S1: a clear empties a list that names a run the log does not know', async () => {
    const { ledger } = await kind.open();
    await putRow(ledger, failedRow('t-stale', ['run-stale']));

    const report = await createReconciler(ledger).clear('t-stale');

    expect(report).toMatchObject({ refreshed: true });
    expect(await rowOf(ledger, 't-stale')).toMatchObject({
      status: 'failed',
      reason_code: 'provider_unavailable',
      delegated_runs_unreconciled: [],
      delegate_terminal_reconciliation: { trigger: 'kill_path_clear', audit_status: 'ok' },
    });
  });

  test('S2: a running row, a row that discloses nothing and an empty id are left alone', async () => {
    const { ledger, directory } = await kind.open();
    await putRow(ledger, {
      task_id: 't-running',
      status: 'running',
      delegated_runs_unreconciled: ['run-live'],
    });
    await putRow(ledger, failedRow('t-clean', null));
    const before = await fingerprint({ ledger, directory });
    const reconciler = createReconciler(ledger);

    for (const id of ['t-running', 't-clean', ''])
      expect(await reconciler.clear(id)).toMatchObject({ refreshed: false });

    expect(await listOf(ledger, 't-running')).toEqual(['run-live']);
    expect(await fingerprint({ ledger, directory })).toEqual(before);
  });

  test('S3: a heal writes the current truth, not an empty list', async () => {
    const { ledger } = await kind.open();
    await ledger.append([
      requested('inv-9', 't-open', {
        route: 'codex',
        project_id: 'project-9',
        project_owned: false,
        max_seconds: 30,
      }),
    ]);
    await putRow(ledger, failedRow('t-open', ['run-stale']));

    await createReconciler(ledger).backfill();

    expect(await listOf(ledger, 't-open')).toEqual(['invocation:inv-9']);
  });

  test('S4: a backfill heals what an earlier generation settled, and leaves the frozen counters', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-gen'), settled('run-1', { task_id: 't-gen' })]);
    await putRow(ledger, {
      ...failedRow('t-gen', ['run-1']),
      reason_code: 'delegated_custody_unreconciled',
      delegated_runs_started: 1,
      delegated_runs_settled: 0,
    });

    const report = await createReconciler(ledger).backfill();

    expect(report).toMatchObject({ refreshed: ['t-gen'], failed: [] });
    expect(await rowOf(ledger, 't-gen')).toMatchObject({
      status: 'failed',
      reason_code: 'delegated_custody_unreconciled',
      delegated_runs_unreconciled: [],
      delegated_runs_started: 1,
      delegated_runs_settled: 0,
    });
    expect(await envelopeOf(ledger, 't-gen')).toMatchObject({
      trigger: 'boot_backfill',
      open_run_ids: [],
      // The model is that of the start, not of the settle.
      terminal_runs: [
        { run_id: 'run-1', state: 'succeeded', model: '', profile_id: '', selected_subagent_id: '' },
      ],
    });
  });

  test('S7 and S8: a permanent patch debt is disclosed, and a second boot changes nothing', async () => {
    const { ledger, directory } = await kind.open();
    await ledger.append([
      started('run-2', 't-incident', { snapshot_id: 'snap-2' }),
      settled('run-2', { task_id: 't-incident' }),
    ]);
    await putRow(ledger, failedRow('t-incident', ['run-2']));
    const reconciler = createReconciler(ledger);

    expect(await reconciler.backfill()).toMatchObject({ refreshed: ['t-incident'] });
    expect(await listOf(ledger, 't-incident')).toEqual(['patch:run-2']);

    const before = await fingerprint({ ledger, directory });
    expect(await reconciler.backfill()).toMatchObject({ refreshed: [] });
    expect(await fingerprint({ ledger, directory })).toEqual(before);
  });

  test('S9: a row with the flat list only gets its envelope once', async () => {
    const { ledger, directory } = await kind.open();
    await ledger.append([started('run-6', 't-flat')]);
    await putRow(ledger, failedRow('t-flat', ['run-6']));
    const reconciler = createReconciler(ledger);

    expect(await reconciler.backfill()).toMatchObject({ refreshed: ['t-flat'] });
    expect(await listOf(ledger, 't-flat')).toEqual(['run-6']);
    expect(await envelopeOf(ledger, 't-flat')).toMatchObject({
      trigger: 'boot_backfill',
      open_run_ids: ['run-6'],
    });

    const before = await fingerprint({ ledger, directory });
    expect(await reconciler.backfill()).toMatchObject({ refreshed: [] });
    expect(await fingerprint({ ledger, directory })).toEqual(before);
  });

  test('S13: what the orphan sweep of this boot settles is healed in this boot, though its outcome names no task', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-5', 't-late')]);
    await putRow(ledger, failedRow('t-late', ['run-5']));
    await ledger.append([settled('run-5')]);

    await createReconciler(ledger).backfill();

    expect(await listOf(ledger, 't-late')).toEqual([]);
    expect(await envelopeOf(ledger, 't-late')).toMatchObject({ trigger: 'boot_backfill' });
  });

  test('S14: a healer never mints a row', async () => {
    const { ledger, directory } = await kind.open();
    await ledger.append([started('run-1', 't-none'), settled('run-1')]);
    const before = await fingerprint({ ledger, directory });
    const reconciler = createReconciler(ledger);

    expect(await reconciler.clear('t-none')).toMatchObject({ refreshed: false });
    expect(await reconciler.backfill()).toMatchObject({ refreshed: [] });

    expect(await ledger.rows.load('t-none')).toBeNull();
    expect(await fingerprint({ ledger, directory })).toEqual(before);
  });

  test('S15, S17 and S18: a clear on the kill path heals the list and keeps status, reason and counters', async () => {
    const { ledger } = await kind.open();
    await putRow(ledger, {
      ...failedRow('t-fast', ['run-stale']),
      reason_code: 'delegated_custody_unreconciled',
      result: 'self-finalized',
      delegated_runs_settled: 0,
    });

    await createReconciler(ledger).clear('t-fast');

    expect(await rowOf(ledger, 't-fast')).toMatchObject({
      status: 'failed',
      reason_code: 'delegated_custody_unreconciled',
      result: 'self-finalized',
      delegated_runs_settled: 0,
      delegated_runs_unreconciled: [],
      delegate_terminal_reconciliation: { trigger: 'kill_path_clear' },
    });
  });

  test('S16, S17 and S18: a clear of a row that is true writes nothing at all', async () => {
    const { ledger, directory } = await kind.open();
    await putRow(ledger, failedRow('t-clean-kill', null));
    const before = await fingerprint({ ledger, directory });

    expect(await createReconciler(ledger).clear('t-clean-kill')).toMatchObject({ refreshed: false });

    expect(await fingerprint({ ledger, directory })).toEqual(before);
  });

  test('S20: a late settlement heals list, cost and substrate next to counters that stay', async () => {
    const { ledger } = await kind.open();
    const evidence = { ...counters(1, 0), subscription_cost_usd: null };
    await ledger.append([started('run-1', 't-late')]);
    await putRow(ledger, {
      ...failedRow('t-late', ['run-1']),
      ...counters(1, 0),
      actual_substrate: 'harness_attempted',
      subagent_envelope: {
        executor_route: 'claude',
        effective_executor: 'harness',
        actual_substrate: 'harness_attempted',
        execution_evidence: evidence,
      },
    });
    await ledger.append([settled('run-1')]);

    expect(await createReconciler(ledger).clear('t-late')).toMatchObject({ refreshed: true });

    expect(await rowOf(ledger, 't-late')).toMatchObject({
      reason_code: 'provider_unavailable',
      delegated_runs_unreconciled: [],
      actual_substrate: 'harness_used',
      delegated_runs_settled: 0,
      delegated_runs_succeeded: 0,
      subagent_envelope: { executor_route: 'claude', effective_executor: 'harness' },
    });
    expect(await evidenceIn(ledger, 't-late')).toMatchObject({
      delegated_runs_succeeded: 1,
      subscription_cost_usd: 1.25,
    });
  });

  test('S21: a task that never delegated is not touched', async () => {
    const { ledger } = await kind.open();
    await putRow(ledger, { task_id: 't-native', status: 'failed' });

    expect(await createReconciler(ledger).clear('t-native')).toMatchObject({ refreshed: false });

    expect(await rowOf(ledger, 't-native')).not.toHaveProperty('actual_substrate');
  });

  test('P5 and P6: there is one evidence event for each row that changed, and none for any other', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1'), settled('run-1'), started('run-2', 't-2')]);
    for (const id of ['t-1', 't-2', 't-3']) await putRow(ledger, failedRow(id, ['run-gone']));
    await putRow(ledger, failedRow('t-4', null));
    const reconciler = createReconciler(ledger);

    await reconciler.backfill();
    await reconciler.backfill();
    await reconciler.sweep();

    const events = (await collect(ledger.read()))
      .map((item) => item.event)
      .filter((event) => EVIDENCE_TYPES.includes(event.type));
    expect(events.map((event) => [event.type, event['task_id'], event['trigger']])).toEqual([
      ['custody.reconciled', 't-1', 'boot_backfill'],
      ['custody.unreconciled', 't-2', 'boot_backfill'],
      ['custody.reconciled', 't-3', 'boot_backfill'],
    ]);
  });

  test('V12: a run that started after the terminal write is disclosed', async () => {
    const { ledger } = await kind.open();
    await putRow(ledger, failedRow('t-1', []));
    await ledger.append([started('run-1', 't-1')]);

    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: ['t-1'] });

    expect(await listOf(ledger, 't-1')).toEqual(['run-1']);
  });

  test('V4: retirements that are no longer right are healed, though nothing is owed', async () => {
    const { ledger } = await kind.open();
    const project = { project_id: 'p-1', project_owned: true };
    await ledger.append([started('run-1', 't-1', project), settled('run-1')]);
    await putRow(ledger, failedRow('t-1', ['run-1']));
    const reconciler = createReconciler(ledger);
    await reconciler.backfill();
    expect(await envelopeOf(ledger, 't-1')).toMatchObject({
      unreconciled: [],
      deferred_project_retirements: ['run-1'],
    });

    await ledger.append([{ type: 'project.retired', run_id: 'run-1', project_id: 'p-1' }]);

    expect(await reconciler.backfill()).toMatchObject({ refreshed: ['t-1'] });
    expect(await envelopeOf(ledger, 't-1')).toMatchObject({ deferred_project_retirements: [] });
  });

  test('V4: a row with an empty list and stale evidence is found by a backfill', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(ledger, failedRow('t-1', [], { ...counters(1, 0), actual_substrate: 'harness_attempted' }));
    await ledger.append([settled('run-1')]);

    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: ['t-1'] });

    expect(await rowOf(ledger, 't-1')).toMatchObject({ actual_substrate: 'harness_used' });
  });

  test('V2 and ruling 5: when only the evidence was stale, the envelope keeps its trigger and one event tells', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1'), settled('run-1')]);
    await putRow(
      ledger,
      failedRow('t-1', ['run-1'], { subagent_envelope: { execution_evidence: counters(1, 0) } }),
    );
    const reconciler = createReconciler(ledger);
    await reconciler.clear('t-1');
    const head = await ledger.head();
    // An end whose start is not known yet counts in the evidence, and is neither open nor a receipt.
    await ledger.append([{ type: 'run.closed_absent', run_id: 'run-3', task_id: 't-1' }]);

    expect(await reconciler.backfill()).toMatchObject({ refreshed: ['t-1'] });

    expect(await evidenceIn(ledger, 't-1')).toMatchObject({
      delegated_runs_started: 2,
      delegated_runs_failed: 1,
      subscription_cost_usd: null,
    });
    expect(await envelopeOf(ledger, 't-1')).toMatchObject({ trigger: 'kill_path_clear' });
    const told = (await collect(ledger.read({ after: head.seq }))).filter(({ event }) =>
      EVIDENCE_TYPES.includes(event.type),
    );
    expect(told).toHaveLength(1);
  });

  test('V11: a start that comes last and names another task un-counts the run where its end was counted', async () => {
    const { ledger } = await kind.open();
    await ledger.append([{ ...settled('run-1'), task_id: 't-1' }]);
    await putRow(ledger, failedRow('t-1', [], { subagent_envelope: { execution_evidence: counters(0, 0) } }));
    const reconciler = createReconciler(ledger);
    await reconciler.backfill();
    expect(await evidenceIn(ledger, 't-1')).toMatchObject({ delegated_runs_succeeded: 1 });

    await ledger.append([started('run-1', 't-2', { source: 'review_substrate.panel' })]);

    expect(await reconciler.backfill()).toMatchObject({ refreshed: ['t-1'] });
    expect(await evidenceIn(ledger, 't-1')).toMatchObject({
      delegated_runs_started: 0,
      delegated_runs_succeeded: 0,
    });
  });
});

import type { Ledger } from '@custody/ledger';
import type { TaskAudit } from '@custody/reconciler';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { event, settled, started } from '../support/events.ts';
import { eventsOf } from '../support/log.ts';
import { counters, failedRow, fingerprint, listOf, putRow, rowOf } from '../support/terminal-rows.ts';

async function auditOf(ledger: Ledger, taskId: string): Promise<TaskAudit['audit'] | undefined> {
  return (await createReconciler(ledger).audit([taskId])).tasks[0]?.audit;
}

describe.each(STORES)('rows that were untrue, on $name', ({ open }) => {
  test('12.1 #835: an empty list blames nothing: the reason of the row stays the first one', async () => {
    const opened = await open();
    const { ledger } = opened;
    await ledger.append([
      started('run-1', 't-1'),
      settled('run-1', { state: 'failed', reason: 'provider_unavailable' }),
    ]);
    await putRow(ledger, failedRow('t-1', [], { delegate_terminal_reconciliation: {} }));
    await createReconciler(ledger).backfill();
    const first = await fingerprint(opened);

    for (let pass = 0; pass < 3; pass += 1) await createReconciler(ledger).clear('t-1');

    expect(await rowOf(ledger, 't-1')).toMatchObject({
      reason_code: 'provider_unavailable',
      delegated_runs_unreconciled: [],
    });
    expect(await fingerprint(opened)).toEqual(first);
  });

  test('12.1 #343: an end that could not be booked leaves the run in flight, whatever else is said of it', async () => {
    const { ledger } = await open();
    await ledger.append([
      started('run-1', 't-1'),
      event('run.settle_failed', { run_id: 'run-1', step: 'ledger_write', error: 'the disk is full' }),
      event('run.cancel_outcome', { run_id: 'run-1', outcome: 'failed' }),
    ]);

    expect(await auditOf(ledger, 't-1')).toMatchObject({ unreconciled: ['run-1'], terminal_runs: [] });
  });

  test('12.1 #413: one paid run has one identity, however often its start is told', async () => {
    const { ledger } = await open();
    const start = { id: 'e-1', ...started('run-1', 't-1') };
    for (let repeat = 0; repeat < 21; repeat += 1)
      await ledger.append([repeat % 2 === 0 ? start : started('run-1', 't-1')]);
    await ledger.append([settled('run-1')]);

    expect(await ledger.custody.totals()).toMatchObject({ runs: 1, open_runs: 0 });
    expect(await auditOf(ledger, 't-1')).toMatchObject({ terminal_runs: [{ run_id: 'run-1' }] });
  });

  test('12.2 #389: a removal that was refused is disclosed, and neither undoes the settlement nor counts as a debt', async () => {
    const { ledger } = await open();
    await ledger.append([
      started('run-1', 't-1', { project_id: 'p-1', project_owned: true }),
      settled('run-1'),
      event('project.retire_failed', { run_id: 'run-1', project_id: 'p-1' }),
    ]);
    await putRow(ledger, { task_id: 't-1', status: 'completed', delegated_runs_unreconciled: ['run-1'] });

    await createReconciler(ledger).backfill();

    expect(await rowOf(ledger, 't-1')).toMatchObject({
      status: 'completed',
      delegated_runs_unreconciled: [],
      delegate_terminal_reconciliation: { unreconciled: [], deferred_project_retirements: ['run-1'] },
    });
  });

  test('A7, 12.2 #829: a patch is disclosed until it is disposed; the audit knows at once, the row with its next heal', async () => {
    const { ledger } = await open();
    const reconciler = createReconciler(ledger);
    await ledger.append([started('run-1', 't-1', { snapshot_id: 's-1' }), settled('run-1')]);
    await putRow(ledger, failedRow('t-1', ['run-1']));
    await reconciler.backfill();
    expect(await listOf(ledger, 't-1')).toEqual(['patch:run-1']);
    // An apply that nobody resolved is no disposal.
    await ledger.append([event('patch.apply_started', { run_id: 'run-1' })]);
    expect(await auditOf(ledger, 't-1')).toMatchObject({ unreconciled: ['patch:run-1'] });

    await ledger.append([event('patch.disposed', { run_id: 'run-1', disposition: 'rejected' })]);

    expect(await auditOf(ledger, 't-1')).toMatchObject({ unreconciled: [] });
    expect(await listOf(ledger, 't-1')).toEqual(['patch:run-1']);
    expect(await reconciler.clear('t-1')).toMatchObject({ refreshed: true });
    expect(await listOf(ledger, 't-1')).toEqual([]);
  });

  test('12.5: a repeated start of a settled run keeps its receipt, and one heal writes list and evidence together', async () => {
    const { ledger } = await open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(
      ledger,
      failedRow('t-1', ['run-1'], {
        ...counters(1, 0),
        actual_substrate: 'harness_attempted',
        subagent_envelope: { kept: true },
      }),
    );
    await ledger.append([settled('run-1'), started('run-1', 't-1')]);

    await createReconciler(ledger).sweep();

    expect(await rowOf(ledger, 't-1')).toMatchObject({
      delegated_runs_unreconciled: [],
      delegate_terminal_reconciliation: { terminal_runs: [{ run_id: 'run-1', state: 'succeeded' }] },
      actual_substrate: 'harness_used',
      subagent_envelope: { kept: true, execution_evidence: { delegated_runs_succeeded: 1 } },
    });
    expect(await eventsOf(ledger, 'custody.reconciled', 'custody.unreconciled')).toHaveLength(1);
  });
});

import { effectiveRow, frameHandoff, handoffOf } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { rowOf } from '../../support/row.ts';

const runs = (count: number) => Array.from({ length: count }, (_, index) => `run-${index}`);

describe('the handoff of a task', () => {
  it('S4: tells the stored disclosure, without the key that joins stored records', () => {
    const row = {
      task_id: 't-gen',
      delegated_runs_unreconciled: [],
      delegate_terminal_reconciliation: {
        task_id: 't-gen',
        trigger: 'boot_backfill',
        outcomes: [],
        audit_status: 'ok',
        open_run_ids: [],
        pending_invocation_ids: [],
        undisposed_patch_run_ids: [],
        deferred_project_retirements: [],
        terminal_runs: [
          { run_id: 'run-1', state: 'succeeded', model: '', profile_id: '', selected_subagent_id: 's' },
        ],
        unreconciled: [],
      },
    };

    expect(handoffOf(row)).toEqual({
      unreconciled: [],
      trigger: 'boot_backfill',
      audit_status: 'ok',
      open_run_ids: [],
      pending_invocation_ids: [],
      undisposed_patch_run_ids: [],
      terminal_runs: [{ run_id: 'run-1', state: 'succeeded', model: '', profile_id: '' }],
    });
    expect(row.delegate_terminal_reconciliation.terminal_runs[0]).toHaveProperty('selected_subagent_id');
  });

  it('S5: names both rows of a lineage where the whole list stands', () => {
    const row = {
      task_id: 't-retry',
      original_task_id: 't-orig',
      status: 'failed',
      delegated_runs_unreconciled: runs(12),
    };

    expect(handoffOf(row)).toEqual({
      unreconciled: runs(10),
      unreconciled_omitted: 2,
      full_source: [
        "read_file(root='runtime_data', path='task_results/t-retry.json')",
        "read_file(root='runtime_data', path='task_results/t-orig.json')",
      ],
    });
  });

  it('names one source for a task that replaced no other, and the origin of a timed out one', () => {
    const long = { delegated_runs_unreconciled: runs(11) };

    expect(handoffOf({ task_id: 't-1', original_task_id: 't-1', ...long })?.['full_source']).toEqual([
      "read_file(root='runtime_data', path='task_results/t-1.json')",
    ]);
    expect(handoffOf({ task_id: 't-2', timeout_retry_from: 't-1', ...long })?.['full_source']).toHaveLength(
      2,
    );
  });

  it('cuts each list of the envelope after 10 and says how many it left out', () => {
    const receipts = runs(11).map((run_id) => ({ run_id, state: 'failed' }));

    const handoff = handoffOf({
      task_id: 't-1',
      delegate_terminal_reconciliation: {
        open_run_ids: runs(10),
        pending_invocation_ids: runs(13),
        terminal_runs: receipts,
      },
    });

    expect(handoff).toMatchObject({
      unreconciled: [],
      trigger: '',
      audit_status: 'unknown',
      open_run_ids: runs(10),
      pending_invocation_ids: runs(10),
      pending_invocation_ids_omitted: 3,
      undisposed_patch_run_ids: [],
      terminal_runs: receipts.slice(0, 10),
      terminal_runs_omitted: 1,
    });
    expect(handoff).toHaveProperty('full_source');
    expect(handoff).not.toHaveProperty('open_run_ids_omitted');
  });

  it('ruling 11: is there for a list, even an empty one, and for nothing less', () => {
    expect(handoffOf({ task_id: 't-1', delegated_runs_unreconciled: [] })).toEqual({ unreconciled: [] });
    expect(handoffOf({ task_id: 't-1', status: 'failed' })).toBeNull();
    expect(handoffOf({ task_id: 't-1', delegate_terminal_reconciliation: {} })).toBeNull();
  });

  it('ruling 11: of an effective row tells what the retry inherited', () => {
    const original = rowOf('t-orig', {
      status: 'failed',
      retry_task_id: 't-retry',
      delegated_runs_unreconciled: ['run-r'],
    });
    const retry = rowOf('t-retry', { status: 'failed' });

    const shown = effectiveRow(
      original,
      () => retry,
      () => null,
    );

    expect(handoffOf(shown.value)).toEqual({ unreconciled: ['run-r'] });
  });

  it('stands between the lines that mark it', () => {
    const lines = frameHandoff({ unreconciled: [] }).split('\n');

    expect(lines[0]).toBe('[SUBTASK_OUTCOME]');
    expect(lines.at(-1)).toBe('[/SUBTASK_OUTCOME]');
    expect(JSON.parse(lines.slice(1, -1).join('\n'))).toEqual({ delegated_custody: { unreconciled: [] } });
  });
});

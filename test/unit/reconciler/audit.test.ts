import type { TerminalReceipt } from '@custody/ledger';
import type { AuditFailure, AuditSource } from '@custody/reconciler';
import { audit, evidenceEvent } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';

const receipt: TerminalReceipt = {
  run_id: 'run-1',
  state: 'succeeded',
  model: '',
  profile_id: '',
  selected_subagent_id: '',
};

const full: AuditSource = {
  readable: true,
  openRunIds: () => ['run-2'],
  pendingInvocationIds: () => ['inv-1'],
  undisposedPatchRunIds: () => ['run-1'],
  deferredProjectRetirements: () => ['run-1'],
  terminalReceipts: () => [receipt],
};

function broken(): never {
  throw new Error('disk on fire');
}

describe('an audit', () => {
  test('lists open runs, then invocations, then patches; retirements are disclosed and never owed', () => {
    expect(audit('t-1', 'audit', full)).toEqual({
      task_id: 't-1',
      trigger: 'audit',
      outcomes: [],
      audit_status: 'ok',
      open_run_ids: ['run-2'],
      pending_invocation_ids: ['inv-1'],
      undisposed_patch_run_ids: ['run-1'],
      terminal_runs: [receipt],
      deferred_project_retirements: ['run-1'],
      unreconciled: ['run-2', 'invocation:inv-1', 'patch:run-1'],
    });
  });

  const failures: readonly [AuditFailure, Partial<AuditSource>][] = [
    ['custody_log_unreadable', { readable: false }],
    ['audit_failed', { openRunIds: broken }],
    ['pending_invocation_audit_failed', { pendingInvocationIds: broken }],
    ['undisposed_patch_audit_failed', { undisposedPatchRunIds: broken }],
    ['registration_audit_failed', { deferredProjectRetirements: broken }],
    ['terminal_receipt_audit_failed', { terminalReceipts: broken }],
  ];

  test.each(failures)('fails closed with %s, one token and no lists', (why, fault) => {
    expect(audit('t-1', 'boot_backfill', { ...full, ...fault })).toEqual({
      task_id: 't-1',
      trigger: 'boot_backfill',
      outcomes: [],
      audit_status: 'failed',
      unreconciled: [`delegated_run_state_unknown:${why}`],
    });
  });

  test('names the first failure, whatever fails after it', () => {
    const result = audit('t-1', 'audit', { ...full, pendingInvocationIds: broken, terminalReceipts: broken });

    expect(result.unreconciled).toEqual(['delegated_run_state_unknown:pending_invocation_audit_failed']);
  });

  test('A2: without a task id it fails closed', () => {
    expect(audit('', 'terminal_boundary', full).unreconciled).toEqual([
      'delegated_run_state_unknown:missing_task_id',
    ]);
  });

  test('A1: the evidence of a failed audit carries its flavour', () => {
    const event = evidenceEvent(audit('t-1', 'sweep_refresh', { ...full, readable: false }));

    expect(event).toMatchObject({
      type: 'custody.unreconciled',
      task_id: 't-1',
      trigger: 'sweep_refresh',
      flavor: 'audit_failed',
      audit_status: 'failed',
      run_ids: ['delegated_run_state_unknown:custody_log_unreadable'],
    });
  });
});

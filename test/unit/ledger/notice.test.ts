import type { JsonObject } from '@custody/ledger';
import { noticeOf } from '@custody/ledger';
import { describe, expect, it } from 'vitest';

const clean = {
  audit_status: 'ok',
  open_run_ids: [],
  pending_invocation_ids: [],
  undisposed_patch_run_ids: [],
  terminal_runs: [],
};

function noticeFor(envelope: JsonObject): string {
  return noticeOf({ task_id: 't-1', delegate_terminal_reconciliation: envelope });
}

describe('the notice for people', () => {
  it('says nothing without an envelope', () => {
    expect(noticeOf({ task_id: 't-1', delegated_runs_unreconciled: ['run-1'] })).toBe('');
    expect(noticeFor({})).toBe('');
  });

  it('says nothing when every receipt succeeded and nothing is owed', () => {
    expect(noticeFor({ ...clean, terminal_runs: [{ run_id: 'run-1', state: 'succeeded' }] })).toBe('');
  });

  it('says only that custody could not be verified after a failed audit', () => {
    const notice = noticeFor({
      audit_status: 'failed',
      unreconciled: ['delegated_run_state_unknown:audit_failed'],
    });

    expect(notice).toContain('could not be verified');
    expect(notice).not.toContain('\n');
  });

  it('tells one cancelled receipt and one patch in one receipt line and three list lines', () => {
    const notice = noticeFor({
      ...clean,
      undisposed_patch_run_ids: ['run-1'],
      terminal_runs: [
        { run_id: 'run-1', state: 'cancelled', model: 'claude-x' },
        { run_id: 'run-2', state: 'succeeded' },
      ],
    });

    expect(notice.split('\n')).toEqual([
      'Delegated runs that did not succeed: run-1 cancelled (claude-x).',
      'Delegated runs still open: none recorded.',
      'Delegated starts without a known outcome: none recorded.',
      'Patches that nobody has decided on: run-1.',
    ]);
  });

  it('leaves the receipt line out when every receipt succeeded', () => {
    expect(noticeFor({ ...clean, open_run_ids: ['run-9'] }).split('\n')).toHaveLength(3);
  });

  it('names 10 items a line and counts the others', () => {
    const ids = Array.from({ length: 12 }, (_, index) => `run-${index}`);

    const notice = noticeFor({
      ...clean,
      open_run_ids: ids,
      terminal_runs: ids.map((run_id) => ({ run_id, state: 'failed' })),
    });

    expect(notice.match(/\(\+2 more in task details\)/g)).toHaveLength(2);
    expect(notice).toContain('run-9');
    expect(notice).not.toContain('run-10');
  });
});

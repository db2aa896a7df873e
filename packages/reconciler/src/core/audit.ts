import type { JsonObject, NewEvent, TaskCustody, TerminalReceipt } from '@custody/ledger';
import {
  deferredProjectRetirements,
  openRunIds,
  pendingInvocationIds,
  terminalReceipts,
  undisposedPatchRunIds,
} from '@custody/ledger';

/** Why an audit was made. The three that heal are written to rows; the others are not. */
export type Trigger =
  | 'boot_backfill'
  | 'sweep_refresh'
  | 'kill_path_clear'
  | 'audit'
  | 'terminal_boundary'
  | 'loop_exit'
  | 'cancel_publication'
  | `reaper_${string}`;

/** Why an audit failed closed. The first failure names the reason. */
export type AuditFailure =
  | 'missing_task_id'
  | 'custody_log_unreadable'
  | 'audit_failed'
  | 'pending_invocation_audit_failed'
  | 'undisposed_patch_audit_failed'
  | 'registration_audit_failed'
  | 'terminal_receipt_audit_failed';

/** What a task owes, as it is stored on its row (`delegate_terminal_reconciliation`). */
export interface GoodAudit {
  readonly task_id: string;
  readonly trigger: Trigger;
  readonly outcomes: readonly JsonObject[];
  readonly audit_status: 'ok';
  readonly open_run_ids: readonly string[];
  readonly pending_invocation_ids: readonly string[];
  readonly undisposed_patch_run_ids: readonly string[];
  readonly terminal_runs: readonly TerminalReceipt[];
  /** Settled runs that still own a project's registration: disclosed, never an obligation. */
  readonly deferred_project_retirements: readonly string[];
  /** Open runs, then `invocation:<id>`, then `patch:<run>`. */
  readonly unreconciled: readonly string[];
}

/** The answer when the truth can't be known: one token, and no lists that could be mistaken for knowledge. */
export interface FailedAudit {
  readonly task_id: string;
  readonly trigger: Trigger;
  readonly outcomes: readonly JsonObject[];
  readonly audit_status: 'failed';
  readonly unreconciled: readonly [`delegated_run_state_unknown:${AuditFailure}`];
}

/** Either form of an audit. */
export type Audit = GoodAudit | FailedAudit;

/** What an audit asks of the log. Each answer may fail on its own; a failure closes the audit. */
export interface AuditSource {
  readonly readable: boolean;
  openRunIds(): readonly string[];
  pendingInvocationIds(): readonly string[];
  undisposedPatchRunIds(): readonly string[];
  deferredProjectRetirements(): readonly string[];
  terminalReceipts(): readonly TerminalReceipt[];
}

/** The audit's questions answered from one task's custody. */
export function auditSource(custody: TaskCustody, readable = true): AuditSource {
  return {
    readable,
    openRunIds: () => openRunIds(custody),
    pendingInvocationIds: () => pendingInvocationIds(custody),
    undisposedPatchRunIds: () => undisposedPatchRunIds(custody),
    deferredProjectRetirements: () => deferredProjectRetirements(custody),
    terminalReceipts: () => terminalReceipts(custody),
  };
}

/** Audits one task (docs/contracts/custody.md, 3). Reads only, never throws. */
export function audit(taskId: string, trigger: Trigger, source: AuditSource): Audit {
  if (taskId === '') return failedAudit(taskId, trigger, 'missing_task_id');
  if (!source.readable) return failedAudit(taskId, trigger, 'custody_log_unreadable');
  try {
    const open = ask('audit_failed', () => source.openRunIds());
    const pending = ask('pending_invocation_audit_failed', () => source.pendingInvocationIds());
    const patches = ask('undisposed_patch_audit_failed', () => source.undisposedPatchRunIds());
    const deferred = ask('registration_audit_failed', () => source.deferredProjectRetirements());
    const receipts = ask('terminal_receipt_audit_failed', () => source.terminalReceipts());
    return {
      task_id: taskId,
      trigger,
      outcomes: [],
      audit_status: 'ok',
      open_run_ids: open,
      pending_invocation_ids: pending,
      undisposed_patch_run_ids: patches,
      terminal_runs: receipts,
      deferred_project_retirements: deferred,
      unreconciled: [
        ...open,
        ...pending.map((id) => `invocation:${id}`),
        ...patches.map((id) => `patch:${id}`),
      ],
    };
  } catch (error) {
    if (error instanceof AuditStepError) return failedAudit(taskId, trigger, error.why);
    throw error;
  }
}

/** The closed form of an audit. */
export function failedAudit(taskId: string, trigger: Trigger, why: AuditFailure): FailedAudit {
  return {
    task_id: taskId,
    trigger,
    outcomes: [],
    audit_status: 'failed',
    unreconciled: [`delegated_run_state_unknown:${why}`],
  };
}

class AuditStepError extends Error {
  override readonly name = 'AuditStepError';
  readonly why: AuditFailure;

  constructor(why: AuditFailure, cause: unknown) {
    super(why, { cause });
    this.why = why;
  }
}

function ask<T>(why: AuditFailure, question: () => T): T {
  try {
    return question();
  } catch (cause) {
    throw new AuditStepError(why, cause);
  }
}

/** The evidence event of an audit that changed a row or that nobody compares first. */
export function evidenceEvent(result: Audit, extra: JsonObject = {}): NewEvent {
  const { task_id, trigger, unreconciled } = result;
  if (unreconciled.length === 0) {
    return { ...extra, type: 'custody.reconciled', task_id, trigger, outcome_count: result.outcomes.length };
  }
  if (result.audit_status === 'failed') {
    return {
      ...extra,
      type: 'custody.unreconciled',
      task_id,
      trigger,
      run_ids: unreconciled,
      audit_status: 'failed',
      open_run_ids: [],
      pending_invocation_ids: [],
      undisposed_patch_run_ids: [],
      flavor: 'audit_failed',
    };
  }
  return {
    ...extra,
    type: 'custody.unreconciled',
    task_id,
    trigger,
    run_ids: unreconciled,
    audit_status: 'ok',
    open_run_ids: result.open_run_ids,
    pending_invocation_ids: result.pending_invocation_ids,
    undisposed_patch_run_ids: result.undisposed_patch_run_ids,
  };
}

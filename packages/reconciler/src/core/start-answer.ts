import type { JsonObject, TaskCustody } from '@custody/ledger';
import { openRunIds, pendingInvocationIds, undisposedPatchRunIds } from '@custody/ledger';

/** Why a start or a retry was refused. */
export type StartRefusal =
  /** Whether the task owes something can't be known now. */
  | 'replacement_custody_unknown'
  /** The task owes something that must be dealt with first. */
  | 'replacement_requires_settlement'
  /** The request could not be recorded; nothing was sent. */
  | 'start_request_row_unwritable'
  /** The executor refused for good. */
  | 'start_refused'
  /** The executor could not be asked, or its answer could not be read: there may be a run. */
  | 'daemon_unreachable'
  /** The executor took the request and named no run. */
  | 'queued_without_run_id'
  | 'unknown_invocation'
  | 'foreign_invocation'
  | 'invocation_already_started'
  | 'invocation_definitely_refused'
  | 'invocation_request_unrecorded'
  | 'retry_prompt_mismatch';

/** The answer to a start or a retry (docs/contracts/custody.md, 2.3). */
export type StartAnswer =
  | {
      readonly status: 'started';
      readonly run_id: string;
      readonly invocation_id: string;
      readonly task_id: string;
      /** True: the log has the start. */
      readonly custody_durable: true;
      /** True for a retry: what was sent, and all facts, are those of the first try. */
      readonly idempotent_recovery: boolean;
      /** The facts of the run, as its start records them. */
      readonly facts: JsonObject;
    }
  | {
      /** A run that the log could not take: it stands as a pending invocation, and a retry finds it. */
      readonly status: 'started_uncustodied';
      readonly run_id: string;
      readonly invocation_id: string;
      readonly task_id: string;
      readonly custody_durable: false;
      readonly pending_invocation_id: string;
      readonly idempotent_recovery: boolean;
      readonly detail: string;
    }
  | {
      readonly status: 'refused';
      readonly reason: StartRefusal;
      /** For people. */
      readonly message: string;
      /** There only if a run may exist: what `retry_of` takes. */
      readonly pending_invocation_id?: string;
      readonly retry_hint?: string;
      /** The run that an invocation became. */
      readonly run_id?: string;
      readonly code?: string;
      readonly detail?: string;
      readonly custody_log_unreadable?: boolean;
      readonly open_run_ids?: readonly string[];
      readonly pending_invocation_ids?: readonly string[];
      readonly undisposed_patch_run_ids?: readonly string[];
      readonly idempotent_recovery?: boolean;
    };

/** A refusal. */
export type StartRefused = Extract<StartAnswer, { status: 'refused' }>;

/** A predecessor in whose snapshot a start goes on; what it owes passes to its successor. */
export interface Continuation {
  readonly run_id: string;
  readonly snapshot_id: string;
}

/** Ids that a refusal names in its text. */
const NAMED = 4;

/** The refusal of a start while its task owes something; null if it owes nothing (docs/contracts/custody.md, 2.2). */
export function blockedBy(custody: TaskCustody, continuation: Continuation | null): StartRefused | null {
  const isPredecessor = (runId: string) =>
    continuation !== null &&
    runId === continuation.run_id &&
    custody.runs.some(
      (run) => run.run_id === runId && run.snapshot_id !== '' && run.snapshot_id === continuation.snapshot_id,
    );
  const open = openRunIds(custody).filter((id) => !isPredecessor(id));
  const pending = pendingInvocationIds(custody);
  const patches = undisposedPatchRunIds(custody).filter((id) => !isPredecessor(id));
  const ids = [...open, ...pending, ...patches];
  if (ids.length === 0) return null;
  return {
    status: 'refused',
    reason: 'replacement_requires_settlement',
    message: `the task still owes ${named(ids)}: settle the runs, dispose of the patches, or send a pending invocation again with retry_of`,
    open_run_ids: open,
    pending_invocation_ids: pending,
    undisposed_patch_run_ids: patches,
  };
}

function named(ids: readonly string[]): string {
  const more = ids.length > NAMED ? ` (+${ids.length - NAMED} more)` : '';
  return `${ids.slice(0, NAMED).join(', ')}${more}`;
}

/** How to come back to an invocation whose outcome is unknown. */
export function retryHint(invocationId: string): string {
  return `a run may exist: send the same request again with retry_of=${invocationId}, which can't start a second one`;
}

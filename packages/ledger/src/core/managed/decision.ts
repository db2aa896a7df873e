import type { JsonObject, JsonValue } from '../json.ts';
import type { NewEvent } from '../recorded-event.ts';

/** Why a command was refused. */
export type RefusalReason =
  | 'no_such_task'
  | 'task_exists'
  | 'no_such_parent'
  | 'no_such_run'
  | 'foreign_run'
  | 'run_not_ended'
  | 'not_latest_run'
  | 'active_run'
  | 'already_completed'
  | 'status_not_replayable'
  | 'decomposed'
  | 'changed_since_run'
  | 'parents_open'
  | 'operator_released'
  | 'stale_epoch'
  | 'stale_fence'
  | 'not_holder'
  | 'not_current_run'
  | 'not_running'
  | 'changed_meanwhile'
  | 'worker_survived'
  | 'idempotency_conflict'
  | 'status_not_completable'
  | 'needs_force'
  | 'status_not_blockable'
  | 'not_blocked'
  | 'not_in_triage'
  | 'not_promotable'
  | 'task_ended'
  | 'task_running'
  | 'already_archived'
  | 'link_cycle'
  | 'not_expired'
  | 'journal_conflict'
  | 'nothing_claimable'
  | 'question_open'
  | 'no_such_question'
  | 'invalid_option'
  | 'already_answered'
  | 'already_delivered'
  | 'not_answered'
  | 'in_flight'
  | 'not_ready';

/** An expected "no": nothing was written. The facts say what is current. */
export interface Refusal {
  readonly outcome: 'refused';
  readonly reason: RefusalReason;
  readonly [fact: string]: JsonValue | undefined;
}

/** A sign of life: kept beside the lease, never in the log. */
export interface LeaseBeat {
  readonly task_id: string;
  readonly expires_at_ms: number;
  readonly heartbeat_at_ms: number;
}

/** What a command comes to: events that are written together, or a refusal. */
export type Decision =
  | {
      readonly kind: 'accepted';
      readonly events: readonly NewEvent[];
      readonly beat?: LeaseBeat;
      /** What is answered without an event of its own, such as a stored value. */
      readonly answer?: JsonObject;
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** Accepts a command. */
export function accept(
  events: readonly NewEvent[],
  more: { readonly beat?: LeaseBeat; readonly answer?: JsonObject } = {},
): Decision {
  return { kind: 'accepted', events, ...more };
}

/** Refuses a command with what is current. */
export function refuse(
  reason: RefusalReason,
  facts: JsonObject = {},
): Decision & { readonly kind: 'refused' } {
  return { kind: 'refused', refusal: { outcome: 'refused', reason, ...facts } };
}

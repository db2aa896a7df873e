import type { JsonObject } from './json.ts';
import { isJsonObject, isTruthy, textOf } from './json.ts';
import type { RecordedEvent } from './recorded-event.ts';
import { isReviewSource } from './run-record.ts';

/** An intended start, before its run id is known (docs/contracts/custody.md, 2.1). */
export interface InvocationRecord {
  readonly invocation_id: string;
  readonly requested: boolean;
  readonly started: boolean;
  readonly failed_definite: boolean;
  readonly task_id: string;
  /** `seq` of the first request; orders the invocations of a task. 0 while not requested. */
  readonly first_seq: number;
  readonly requested_at: string;
  /** The run that the invocation became; empty while none is known. */
  readonly run_id: string;
  /** The first request as it was written; it supplies every fact. */
  readonly request_row: JsonObject;
}

/** What became of an invocation. */
export type InvocationState = 'pending' | 'started' | 'failed_definite' | 'unrequested';

/** The record of an invocation of which nothing is known yet. */
export function emptyInvocation(invocationId: string): InvocationRecord {
  return {
    invocation_id: invocationId,
    requested: false,
    started: false,
    failed_definite: false,
    task_id: '',
    first_seq: 0,
    requested_at: '',
    run_id: '',
    request_row: {},
  };
}

/** Folds one event into the invocation that it names. A start wins over a definite failure in either order. */
export function foldInvocation(record: InvocationRecord, event: RecordedEvent): InvocationRecord {
  switch (event.type) {
    case 'run.start_requested':
      if (record.requested) return record;
      return {
        ...record,
        requested: true,
        task_id: textOf(event, 'task_id'),
        first_seq: event.seq,
        requested_at: event.at,
        request_row: factsOfRequest(event),
      };
    case 'run.start_failed':
      return event['definite'] === true ? { ...record, failed_definite: true } : record;
    case 'run.started':
      return { ...record, started: true, run_id: record.run_id || textOf(event, 'run_id') };
    default:
      return record;
  }
}

/** Where an invocation stands. */
export function invocationState(record: InvocationRecord): InvocationState {
  if (record.started) return 'started';
  if (record.failed_definite) return 'failed_definite';
  return record.requested ? 'pending' : 'unrequested';
}

/**
 * True while the start is owed an answer. A request without a body and without a reference to one is dropped:
 * nothing could ever be sent again. A reference that can't be read keeps its identity.
 */
export function isPending(record: InvocationRecord): boolean {
  if (invocationState(record) !== 'pending') return false;
  return isJsonObject(record.request_row['request']) || isJsonObject(record.request_row['request_ref']);
}

/** True for an invocation of a review panel, which is nobody else's debt. */
export function isReviewInvocation(record: InvocationRecord): boolean {
  return isReviewSource(record.request_row['source']);
}

/**
 * Whether the registration outlives the run. The explicit key wins; an old row without it is judged by its
 * stored body: writing into a stable workspace root is persistent.
 */
export function isPersistentInvocation(record: InvocationRecord): boolean {
  const row = record.request_row;
  if (Object.hasOwn(row, 'project_persistent')) return isTruthy(row['project_persistent']);
  const body = row['request'];
  if (!isJsonObject(body)) return false;
  const root = textOf(body, 'stable_workspace_root') || textOf(body, 'workspace_root');
  return textOf(body, 'access') === 'workspace_write' && root.trim() !== '';
}

const ENVELOPE = new Set(['seq', 'id', 'type', 'at', 'recorded_at', 'epoch', 'hash', 'run_id']);

function factsOfRequest(event: RecordedEvent): JsonObject {
  return Object.fromEntries(Object.entries(event).filter(([key]) => !ENVELOPE.has(key)));
}

import type { JsonObject } from './json.ts';
import { isObject, own, text } from './json.ts';

/** An intended start, as its first START_REQUESTED row tells it. */
export interface Invocation {
  readonly invocation_id: string;
  readonly task_id: string;
  readonly source: string;
  readonly state: 'pending' | 'started' | 'failed_definite';
  /** False when the request has neither a body nor a reference to one: nobody could ever send it again. */
  readonly has_body: boolean;
}

/** Folds the invocation rows; an invocation exists from its first START_REQUESTED row on. */
export function foldInvocations(rows: readonly JsonObject[]): Map<string, Invocation> {
  const ofType = (type: string) => rows.filter((row) => text(row, 'type') === type);
  const started = idsOf(ofType('delegate_run_started'));
  const failed = idsOf(ofType('delegate_run_start_failed').filter((row) => own(row, 'definite') === true));
  const stateOf = (id: string) =>
    started.has(id) ? 'started' : failed.has(id) ? 'failed_definite' : 'pending';
  const invocations = new Map<string, Invocation>();
  for (const row of ofType('delegate_run_start_requested')) {
    const id = text(row, 'invocation_id');
    if (id === '' || invocations.has(id)) continue;
    invocations.set(id, {
      invocation_id: id,
      task_id: text(row, 'task_id'),
      source: text(row, 'source') || 'delegated_subagent',
      state: stateOf(id),
      has_body: isObject(own(row, 'request')) || isObject(own(row, 'request_ref')),
    });
  }
  return invocations;
}

function idsOf(rows: readonly JsonObject[]): Set<string> {
  return new Set(rows.map((row) => text(row, 'invocation_id')));
}

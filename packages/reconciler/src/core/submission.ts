import type { InvocationRecord, JsonObject } from '@custody/ledger';

/** An intended start with everything that is sent for it. */
export interface Submission {
  /** The key on the wire. The executor starts at most one run for it, however often it is sent. */
  readonly invocation_id: string;
  readonly task_id: string;
  /** The body, exactly as it was stored. */
  readonly request: JsonObject;
  /** The facts of the request beside its body: `route`, `project_id`, ... */
  readonly facts: JsonObject;
}

/** Keys of a request's event that are no facts of the run to be: its body, its identity, and what the ledger adds. */
const NO_FACTS = new Set([
  'request',
  'request_ref',
  'prompt_chars',
  'retried',
  'invocation_id',
  'task_id',
  'run_id',
  'type',
  'id',
  'at',
  'seq',
  'recorded_at',
  'epoch',
  'hash',
]);

/** The facts among the fields of an event or of an executor's answer. */
export function factsOf(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !NO_FACTS.has(key)));
}

/** The submission of a recorded invocation; `request` is its body, read from wherever it is kept. */
export function toSubmission(invocation: InvocationRecord, request: JsonObject): Submission {
  return {
    invocation_id: invocation.invocation_id,
    task_id: invocation.task_id,
    request,
    facts: factsOf(invocation.request_row),
  };
}

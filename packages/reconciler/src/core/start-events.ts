import type { InvocationRecord, JsonObject, JsonValue, NewEvent } from '@custody/ledger';
import { isJsonObject, isPersistentInvocation, parseNewEvent, textOf } from '@custody/ledger';
import { reconcileId } from './reconcile-id.ts';
import type { Submission } from './submission.ts';
import { factsOf } from './submission.ts';

/** Texts of a body that describe the run where the request's own facts do not. */
const BODY_TEXTS = ['model', 'effort', 'access', 'mode', 'isolation'];

/**
 * The start of the run that a submission became. What the executor adds is left out when the log would refuse it:
 * a run must not stay without custody because of a decoration.
 */
export function startedEvent(
  submission: Submission,
  runId: string,
  options: { readonly added?: JsonObject | undefined; readonly recovered?: boolean } = {},
): NewEvent {
  const plain: NewEvent = {
    ...bodyFacts(submission.request),
    ...submission.facts,
    ...(isPersistent(submission) ? { project_persistent: true } : {}),
    id: reconcileId('started', submission.invocation_id, runId),
    type: 'run.started',
    run_id: runId,
    task_id: submission.task_id,
    invocation_id: submission.invocation_id,
    ...(options.recovered === true ? { recovered_from_pending_invocation: true } : {}),
  };
  if (options.added === undefined) return plain;
  const decorated = { ...factsOf(options.added), ...plain };
  return isAcceptable(decorated) ? decorated : plain;
}

function isAcceptable(event: NewEvent): boolean {
  try {
    parseNewEvent(event, 0);
    return true;
  } catch {
    return false;
  }
}

function bodyFacts(body: JsonObject): JsonObject {
  const facts: Record<string, JsonValue> = {};
  for (const name of BODY_TEXTS) {
    const value = textOf(body, name);
    if (value !== '') facts[name] = value;
  }
  return facts;
}

/**
 * True if the registration outlives the run, by its own key or, in an old row without one, by the stored body.
 * An absent key that means nothing stays absent: it must not become false.
 */
function isPersistent(submission: Submission): boolean {
  const record = {
    request_row: { ...submission.facts, request: submission.request },
  } as unknown as InvocationRecord;
  return isPersistentInvocation(record);
}

/** What is told of the registration that a failed start leaves. Nothing is removed here: its owner does that. */
function registrationFacts(submission: Submission, isDefinite: boolean): JsonObject {
  const projectId = textOf(submission.facts, 'project_id');
  if (projectId === '') return {};
  const left = {
    project_id: projectId,
    project_owned: submission.facts['project_owned'] === true,
    project_retired: false,
  };
  if (!isDefinite) return { ...left, project_retention_reason: 'start_outcome_unknown_run_may_exist' };
  return {
    ...left,
    project_retention_reason: isPersistent(submission) ? 'persistent_registration' : 'left_to_its_owner',
  };
}

/** The failure of a start: definite when there is no run and will be none. */
export function startFailedEvent(
  submission: Submission,
  failure: {
    readonly definite: boolean;
    readonly reason: string;
    readonly id?: string;
    readonly facts?: JsonObject;
  },
): NewEvent {
  return {
    ...(failure.id === undefined ? {} : { id: failure.id }),
    ...failure.facts,
    ...registrationFacts(submission, failure.definite),
    type: 'run.start_failed',
    task_id: submission.task_id,
    invocation_id: submission.invocation_id,
    definite: failure.definite,
    reason: failure.reason,
  };
}

/** The prompt of a body, where it has one; compared by a retry. */
export function promptOf(body: JsonObject): string {
  return isJsonObject(body) ? textOf(body, 'prompt') : '';
}

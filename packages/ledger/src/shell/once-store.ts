import { derivedId } from '../core/event-hash.ts';
import type { Decision } from '../core/managed/decision.ts';
import { accept } from '../core/managed/decision.ts';
import type { ManagedScope, ScopeRequest } from '../core/managed/scope.ts';
import type { NewEvent, RecordedEvent } from '../core/recorded-event.ts';
import { InvalidEventError } from '../errors.ts';
import type { NewId } from '../ports/clock.ts';
import type { Decided, ManagedStore } from '../ports/managed-store.ts';

/**
 * A store under a request id: the event that says that a command was carried out has that id. So a request that is
 * made again, because its answer was lost, is known by the log itself, in the transaction that would write:
 * also by another process, after a restart, and from a ledger that was imported.
 */
export function onceStore(store: ManagedStore, requestId: string): ManagedStore {
  return {
    ...store,
    newId: idsOf(requestId),
    decide: (request, decision) =>
      request.effect === undefined
        ? store.decide(request, decision)
        : decideOnce(store, { request, effect: request.effect, requestId }, decision),
  };
}

/** The ids that a command makes up are the same ones when its request is made again. */
function idsOf(requestId: string): NewId {
  let count = 0;
  return () => {
    count += 1;
    return derivedId(requestId, count);
  };
}

interface Once {
  readonly request: ScopeRequest;
  readonly effect: readonly string[];
  readonly requestId: string;
}

async function decideOnce(
  store: ManagedStore,
  once: Once,
  decision: (scope: ManagedScope) => Decision,
): Promise<Decided> {
  const { request, requestId } = once;
  let known: RecordedEvent | null = null;
  const decided = await store.decide({ ...request, eventId: requestId }, (scope) => {
    known = scope.knownEvent;
    if (known === null) return named(decision(scope), once);
    if (isEffect(known, once)) return accept([]);
    throw conflict(known, requestId);
  });
  const repeats = known as RecordedEvent | null;
  return repeats === null || decided.outcome === 'refused'
    ? decided
    : { ...decided, seqs: [repeats.seq], repeats };
}

/** Gives the request's id to the first event that says that the command was carried out. */
function named(decision: Decision, { effect, requestId }: Once): Decision {
  if (decision.kind === 'refused') return decision;
  const place = decision.events.findIndex((event) => effect.includes(event.type));
  const events = decision.events.map(
    (event, index): NewEvent => (index === place ? { ...event, id: requestId } : event),
  );
  return { ...decision, events };
}

/** True if the event can come from the same command: of its types, and about what it names. */
function isEffect(event: RecordedEvent, { request, effect }: Once): boolean {
  const isNamed = (id: string | undefined, field: string) => id === undefined || event[field] === id;
  return (
    effect.includes(event.type) &&
    isNamed(request.taskIds[0], 'task_id') &&
    isNamed(request.runId, 'run_id') &&
    isNamed(request.questionId, 'question_id')
  );
}

function conflict(event: RecordedEvent, requestId: string): InvalidEventError {
  return new InvalidEventError(
    'event_id_conflict',
    `the request id ${requestId} already stands for another command`,
    {
      field: 'request_id',
      index: 0,
      hint: 'An id names one request for ever; give the new one an id of its own.',
      facts: { id: requestId, recorded_seq: event.seq },
    },
  );
}

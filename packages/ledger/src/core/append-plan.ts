import { InvalidEventError } from '../errors.ts';
import type { CustodyFold } from './custody-fold.ts';
import { chainEvent, isSameEvent } from './event-builder.ts';
import { chainHash } from './event-hash.ts';
import { textOf } from './json.ts';
import type { ManagedFold } from './managed/managed-fold.ts';
import type { NewEvent, RecordedEvent, StoredEvent } from './recorded-event.ts';

/** One request of a group commit: its events are written all or not at all. */
export interface AppendRequest {
  readonly events: readonly NewEvent[];
  /**
   * True for events that another log took already: nothing is asked of them and nothing is added to them,
   * since a row without a task counts for no task there.
   */
  readonly accepted?: boolean;
  /** The same events as another ledger exported them; places and hashes are kept where they continue the chain. */
  readonly exact?: readonly StoredEvent[];
}

/** What a plan may read: the head, the ids the ledger holds, and the fold with the batch's records loaded. */
export interface AppendContext {
  readonly head: { readonly seq: number; readonly hash: string; readonly epoch: number };
  readonly recordedAt: string;
  /** Events of this ledger by id; must know every id of the batch that is there. */
  readonly known: ReadonlyMap<string, RecordedEvent>;
  readonly fold: CustodyFold;
  /** Managed tasks with the batch's records loaded; absent when the batch concerns none. */
  readonly managed?: ManagedFold | null;
  readonly newId: () => string;
}

/** One event of a request as it was written, or as it stood already. */
export interface PlacedEvent {
  readonly id: string;
  readonly seq: number;
  readonly duplicate: boolean;
}

/** What a group commit writes, and the answer to each of its requests. */
export interface AppendPlan {
  readonly stored: readonly StoredEvent[];
  readonly outcomes: readonly ({ readonly events: readonly PlacedEvent[] } | InvalidEventError)[];
}

/** Events that end a run; without a task and without a start there is nobody to count them for. */
const NEEDS_TASK = new Set(['run.settled', 'run.closed_absent']);

/**
 * Orders a batch behind the head and folds it. A request with a bad event adds nothing; the others stand.
 * `context.fold` is changed; it is thrown away if the commit fails.
 */
export function planAppend(requests: readonly AppendRequest[], context: AppendContext): AppendPlan {
  const stored: StoredEvent[] = [];
  const known = new KnownEvents(context.known);
  const outcomes: ({ readonly events: readonly PlacedEvent[] } | InvalidEventError)[] = [];
  for (const request of requests) {
    const problem = findProblem(request, known, context.fold);
    outcomes.push(problem ?? { events: placeAll(request, { context, known, stored }) });
  }
  return { stored, outcomes };
}

/** Events by id: those of the ledger, and in front of them those of this plan. */
class KnownEvents {
  readonly #ofLedger: ReadonlyMap<string, RecordedEvent>;
  readonly #placed = new Map<string, RecordedEvent>();

  constructor(ofLedger: ReadonlyMap<string, RecordedEvent>) {
    this.#ofLedger = ofLedger;
  }

  get(id: string): RecordedEvent | undefined {
    return this.#placed.get(id) ?? this.#ofLedger.get(id);
  }

  add(event: RecordedEvent): void {
    this.#placed.set(event.id, event);
  }
}

/** Everything that could refuse the request, found before the fold is touched. */
function findProblem(
  { events, accepted }: AppendRequest,
  known: KnownEvents,
  fold: CustodyFold,
): InvalidEventError | null {
  const here = new Map<string, NewEvent>();
  const startedHere = new Set<string>();
  for (const [index, event] of events.entries()) {
    if (event.type === 'run.started') startedHere.add(textOf(event, 'run_id'));
    const problem =
      findConflict(event, index, { known, here }) ??
      (accepted === true
        ? null
        : (findOrphan(event, index, { fold, startedHere }) ?? findIntrusion(event, index, fold)));
    if (problem !== null) return problem;
    if (event.id !== undefined) here.set(event.id, event);
  }
  return null;
}

function findConflict(
  event: NewEvent,
  index: number,
  ids: { readonly known: KnownEvents; readonly here: ReadonlyMap<string, NewEvent> },
): InvalidEventError | null {
  if (event.id === undefined) return null;
  const recorded: (NewEvent & { readonly seq?: number }) | undefined =
    ids.known.get(event.id) ?? ids.here.get(event.id);
  if (recorded === undefined || isSameEvent(recorded, event)) return null;
  return new InvalidEventError('event_id_conflict', `the id ${event.id} already stands for another event`, {
    field: 'id',
    index,
    hint: 'An id names one event for ever; give the new event an id of its own.',
    facts: { id: event.id, recorded_seq: recorded.seq ?? null },
  });
}

function findOrphan(
  event: NewEvent,
  index: number,
  runs: { readonly fold: CustodyFold; readonly startedHere: ReadonlySet<string> },
): InvalidEventError | null {
  const runId = textOf(event, 'run_id');
  if (!NEEDS_TASK.has(event.type) || event.task_id !== undefined || runs.startedHere.has(runId)) return null;
  if (runs.fold.runs.get(runId)?.started === true) return null;
  return new InvalidEventError(
    'invalid_event',
    `task_id is missing, and the ledger has no start of run ${runId} to take it from`,
    {
      field: 'task_id',
      index,
      hint: 'An end that arrives before its start must name its task; it is remembered until the start comes.',
      facts: { run_id: runId },
    },
  );
}

/** The start and the end of a managed attempt are written by commands on its task, under its fence. */
function findIntrusion(event: NewEvent, index: number, fold: CustodyFold): InvalidEventError | null {
  if (event.type !== 'run.started' && !NEEDS_TASK.has(event.type)) return null;
  const run = fold.runs.get(textOf(event, 'run_id'));
  if (run?.managed !== true) return null;
  return new InvalidEventError('invalid_event', `run ${run.run_id} holds the managed task ${run.task_id}`, {
    field: 'run_id',
    index,
    hint: 'Complete, fail or block the task instead; an attempt ends under its fence.',
    facts: { run_id: run.run_id, task_id: run.task_id },
  });
}

function placeAll(
  request: AppendRequest,
  state: {
    readonly context: AppendContext;
    readonly known: KnownEvents;
    readonly stored: StoredEvent[];
  },
): readonly PlacedEvent[] {
  return request.events.map((event, index) => {
    const twin = event.id === undefined ? undefined : state.known.get(event.id);
    if (twin !== undefined) return { id: twin.id, seq: twin.seq, duplicate: true };
    const placed = placeOne(
      event,
      { exact: request.exact?.[index], accepted: request.accepted === true },
      state,
    );
    state.stored.push(placed);
    state.known.add(placed.event);
    state.context.fold.apply(placed.event);
    state.context.managed?.apply(placed.event);
    return { id: placed.event.id, seq: placed.event.seq, duplicate: false };
  });
}

function placeOne(
  event: NewEvent,
  { exact, accepted }: { readonly exact: StoredEvent | undefined; readonly accepted: boolean },
  { context, stored }: { readonly context: AppendContext; readonly stored: readonly StoredEvent[] },
): StoredEvent {
  const last = stored.at(-1)?.event ?? context.head;
  const seq = last.seq + 1;
  if (exact !== undefined && exact.event.seq === seq && chainHash(last.hash, exact.text) === exact.event.hash)
    return exact;
  const owner = event.task_id ?? (accepted ? undefined : ownerOf(event, context.fold));
  const complete = owner === undefined ? event : { ...event, task_id: owner };
  return chainEvent(complete, event.id ?? context.newId(), {
    seq,
    previousHash: last.hash,
    recordedAt: context.recordedAt,
    epoch: context.head.epoch,
  });
}

/** The task of a run that the ledger knows, so that every event of a run can be found by its task. */
function ownerOf(event: NewEvent, fold: CustodyFold): string | undefined {
  const run = fold.runs.get(textOf(event, 'run_id'));
  return run?.started === true && run.task_id !== '' ? run.task_id : undefined;
}

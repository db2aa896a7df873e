import type { LeaseBeat } from '../../core/managed/decision.ts';
import type { ScopeRequest } from '../../core/managed/scope.ts';
import type { NewEvent } from '../../core/recorded-event.ts';

/** Fields of an event that name a record, by the kind of record. */
const NAMES = [
  ['task', 'task_id'],
  ['run', 'run_id'],
  ['question', 'question_id'],
  ['submission', 'idempotency_key'],
  ['event', 'id'],
] as const;

/**
 * Events after which their own task is not ready, and no other is that was not before. After any other the next claim
 * asks the store again: a remark leaves a ready task ready, and it may be the one whose turn it is.
 */
const MAKES_NOTHING_READY: ReadonlySet<string> = new Set([
  'run.started',
  'run.pushed',
  'run.submitted',
  'verdict.delivered',
  'task.completed',
  'task.failed',
  'task.blocked',
]);

/** What decisions of a transaction will change, once they are written: whoever reads any of it must wait for that. */
export class PendingChanges {
  readonly #names = new Set<string>();
  readonly #told = new Set<string>();
  #mayMakeReady = false;

  /** `told` are the tasks that the answer will tell of, as they are then: nobody may change them before it is given. */
  add(
    events: readonly NewEvent[],
    { beat, told }: { readonly beat: LeaseBeat | undefined; readonly told: readonly string[] },
  ): void {
    for (const id of told) this.#told.add(id);
    for (const event of events) {
      for (const [kind, field] of NAMES) {
        const value = event[field];
        if (typeof value === 'string') this.#names.add(nameOf(kind, value));
      }
      if (!MAKES_NOTHING_READY.has(event.type)) this.#mayMakeReady = true;
    }
    if (beat !== undefined) this.#names.add(nameOf('task', beat.task_id));
  }

  get isEmpty(): boolean {
    return this.#names.size + this.#told.size === 0;
  }

  /** True if a task may be ready that the store does not know to be. */
  get mayMakeReady(): boolean {
    return this.#mayMakeReady;
  }

  hasTask(taskId: string): boolean {
    return this.#names.has(nameOf('task', taskId));
  }

  hasRun(runId: string): boolean {
    return this.#names.has(nameOf('run', runId));
  }

  /** True if a task changes, or if an answer will tell of it. */
  concernsTask(taskId: string): boolean {
    return this.#told.has(taskId) || this.hasTask(taskId);
  }

  /** True if the request itself names something that changes. */
  concerns(request: ScopeRequest): boolean {
    return namesIn(request).some((name) => this.#names.has(name));
  }
}

/** How many requests, from the first on, name nothing that an earlier one names. */
export function countUnrelated(requests: readonly ScopeRequest[]): number {
  const seen = new Set<string>();
  for (const [index, request] of requests.entries()) {
    const names = namesIn(request);
    if (names.some((name) => seen.has(name))) return index;
    for (const name of names) seen.add(name);
  }
  return requests.length;
}

function namesIn({ taskIds, runId, questionId, idempotencyKey, eventId }: ScopeRequest): readonly string[] {
  return [
    ...taskIds.map((id) => nameOf('task', id)),
    ...(runId === undefined ? [] : [nameOf('run', runId)]),
    ...(questionId === undefined ? [] : [nameOf('question', questionId)]),
    ...(idempotencyKey === undefined ? [] : [nameOf('submission', idempotencyKey)]),
    ...(eventId === undefined ? [] : [nameOf('event', eventId)]),
  ];
}

function nameOf(kind: (typeof NAMES)[number][0], id: string): string {
  return `${kind} ${id}`;
}

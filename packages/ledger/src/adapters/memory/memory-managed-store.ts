import { compareCodePoints } from '../../core/json.ts';
import type { Decision } from '../../core/managed/decision.ts';
import { refuse } from '../../core/managed/decision.ts';
import { EPOCH_DOCUMENT, epochDocument } from '../../core/managed/epoch-record.ts';
import { loadedScope, namedTasks } from '../../core/managed/loaded-scope.ts';
import type { ManagedTask } from '../../core/managed/managed-task.ts';
import { isEnded } from '../../core/managed/managed-task.ts';
import { restampEvents } from '../../core/managed/restamp.ts';
import type { ManagedScope, ScopeRequest } from '../../core/managed/scope.ts';
import { parseSettings, SETTINGS_DOCUMENT } from '../../core/managed/settings.ts';
import { parseNewEvent } from '../../core/parse-event.ts';
import { isUnanswered } from '../../core/questions/question.ts';
import { taskCustodyOf } from '../../core/task-custody.ts';
import { InvalidEventError, StaleEpochError } from '../../errors.ts';
import type { Clock, NewId } from '../../ports/clock.ts';
import type { Decided, ManagedStore } from '../../ports/managed-store.ts';
import type { StateStore } from '../../ports/settle-scan.ts';
import type { OwnTaskRows } from '../../ports/task-rows.ts';
import { memoryCommitSignal } from './memory-commit-signal.ts';
import type { MemoryLog } from './memory-event-store.ts';
import { appendToMemory } from './memory-event-store.ts';

/** One handle: the epoch that it may write in. */
export interface MemorySession {
  epoch: number;
}

/** @throws StaleEpochError if another handle has raised the epoch. */
export function assertCurrent(log: MemoryLog, { epoch }: MemorySession): void {
  if (epoch !== log.epoch) throw new StaleEpochError(epoch, log.epoch);
}

/** What managed tasks in memory rest on. */
export interface MemoryManagedOptions {
  readonly log: MemoryLog;
  readonly session: MemorySession;
  readonly rows: OwnTaskRows;
  readonly state: StateStore;
  readonly clock: Clock;
  readonly newId: NewId;
}

/** Managed tasks in maps; a decision and its events are one because nothing awaits in between. */
export function memoryManagedStore(options: MemoryManagedOptions): ManagedStore {
  const { log, session, clock, newId } = options;

  return {
    newId,
    commits: memoryCommitSignal(log),
    decide: async (request, decision) => {
      const records = await readBeside(options, request);
      return commit(options, {
        request,
        decision: decision(scopeOf(options, request, records)),
        after: scopeOf(options, request, records),
      });
    },
    read: async (request) => scopeOf(options, request, await readBeside(options, request)),
    questions: async ({ taskId, open }) =>
      [...log.managed.questions.values()]
        .filter((question) => taskId === undefined || question.task_id === taskId)
        .filter((question) => open !== true || (isUnanswered(question) && !hasEnded(log, question.task_id)))
        .sort((a, b) => a.asked_seq - b.asked_seq),
    runningTaskIds: async () =>
      tasksBy(log, (task) => task.status === 'running')
        .map((task) => task.task_id)
        .sort(compareCodePoints),
    raiseEpoch: async (reason, nodes) => {
      assertCurrent(log, session);
      log.epoch += 1;
      const { epoch } = log;
      session.epoch = epoch;
      const open = [...log.managed.leases.values()].filter((lease) => lease.open);
      const failover = nodes ?? null;
      const events = restampEvents(open, { epoch, reason, failover });
      appendToMemory(log, [{ events }], { now: clock.now(), newId });
      await options.state.save(EPOCH_DOCUMENT, epochDocument(epoch, failover));
      return { epoch, restamped: open.map((lease) => lease.task_id) };
    },
  };
}

function hasEnded(log: MemoryLog, taskId: string): boolean {
  const task = log.managed.tasks.get(taskId);
  return task !== undefined && isEnded(task);
}

interface Beside {
  readonly settings: ReturnType<typeof parseSettings>;
  readonly rows: ReadonlySet<string>;
}

/** What stands in other parts of the store. Read first, because reading it takes a turn of the loop. */
async function readBeside({ state, rows }: MemoryManagedOptions, request: ScopeRequest): Promise<Beside> {
  const settings = parseSettings(await state.load(SETTINGS_DOCUMENT));
  const known = new Set<string>();
  if (request.rows === true)
    for (const id of request.taskIds) if ((await rows.load(id)) !== null) known.add(id);
  return { settings, rows: known };
}

function scopeOf({ log, clock }: MemoryManagedOptions, request: ScopeRequest, beside: Beside): ManagedScope {
  const now = clock.now();
  const found = {
    runOwner: request.runId === undefined ? null : ownerOf(log, request.runId),
    asker: askerOf(log, request),
    knownEvent: request.eventId === undefined ? null : (log.byId.get(request.eventId) ?? null),
    candidates: request.claimableBy === undefined ? [] : candidatesFor(log, request.claimableBy, now),
  };
  const named = namedTasks(request, found);
  return loadedScope({
    now,
    ...beside,
    ...found,
    fold: log.managed,
    children: new Map(request.children === true ? named.map((id) => [id, childIds(log, id)]) : []),
    custodies: new Map(request.evidence === true ? named.map((id) => [id, taskCustodyOf(log.fold, id)]) : []),
  });
}

function askerOf(log: MemoryLog, { questionId }: ScopeRequest): string | null {
  return questionId === undefined ? null : (log.managed.questions.get(questionId)?.task_id ?? null);
}

function ownerOf(log: MemoryLog, runId: string): string | null {
  const run = log.fold.runs.get(runId);
  return run?.started === true && run.task_id !== '' ? run.task_id : null;
}

function tasksBy(log: MemoryLog, isWanted: (task: ManagedTask) => boolean): readonly ManagedTask[] {
  return [...log.managed.tasks.values()].filter(isWanted);
}

function childIds(log: MemoryLog, taskId: string): readonly string[] {
  return tasksBy(log, (task) => task.parents.includes(taskId))
    .map((task) => task.task_id)
    .sort(compareCodePoints);
}

function candidatesFor(log: MemoryLog, holder: string, now: number): readonly string[] {
  const ready = tasksBy(log, (task) => task.status === 'ready').toSorted(
    (a, b) => b.priority - a.priority || a.created_seq - b.created_seq,
  );
  if (ready[0] !== undefined) return [ready[0].task_id];
  return [...log.managed.leases.values()]
    .filter(
      (lease) =>
        lease.open && lease.process === null && (lease.expires_at_ms < now || lease.holder === holder),
    )
    .sort((a, b) => a.expires_at_ms - b.expires_at_ms || compareCodePoints(a.task_id, b.task_id))
    .map((lease) => lease.task_id);
}

function commit(
  { log, session: { epoch }, newId }: MemoryManagedOptions,
  {
    request,
    decision,
    after,
  }: { readonly request: ScopeRequest; readonly decision: Decision; readonly after: ManagedScope },
): Decided {
  const checked =
    epoch === log.epoch ? decision : refuse('stale_epoch', { offered: epoch, current: log.epoch });
  if (checked.kind === 'refused') return { outcome: 'refused', refusal: checked.refusal };
  const events = checked.events.map((event, index) => parseNewEvent(event, index, 'ledger'));
  const [outcome] = appendToMemory(log, [{ events }], { now: after.now, newId });
  if (outcome instanceof InvalidEventError) throw outcome;
  const lease = checked.beat === undefined ? null : after.leaseOf(checked.beat.task_id);
  if (lease !== null && checked.beat !== undefined) log.managed.putLease({ ...lease, ...checked.beat });
  log.managed.clearChanged();
  return {
    outcome: 'decided',
    seqs: (outcome?.events ?? []).map((event) => event.seq),
    after: asItStands(log, after, request),
    answer: checked.answer ?? {},
  };
}

/**
 * The scope as it stands now. Whoever asked reads it a little later, when the next command may have changed what
 * the maps hold; the records themselves never change.
 */
function asItStands(log: MemoryLog, scope: ManagedScope, request: ScopeRequest): ManagedScope {
  const ids = namedTasks(request, { ...scope, asker: askerOf(log, request) });
  const tasks = new Map(ids.map((id) => [id, scope.taskOf(id)]));
  const leases = new Map(ids.map((id) => [id, scope.leaseOf(id)]));
  const owed = new Map(ids.map((id) => [id, scope.questionsOf(id)]));
  const questionIds = [...tasks.values()].flatMap((task) => task?.newest_question_id ?? []);
  const questions = new Map(
    [...questionIds, request.questionId ?? ''].map((id) => [id, scope.questionOf(id)]),
  );
  return {
    ...scope,
    taskOf: (id) => tasks.get(id) ?? null,
    leaseOf: (id) => leases.get(id) ?? null,
    questionsOf: (id) => owed.get(id) ?? [],
    questionOf: (id) => questions.get(id) ?? null,
  };
}

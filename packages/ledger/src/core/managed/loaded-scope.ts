import type { TaskCustody } from '../obligations.ts';
import { emptyCustody, evidenceOf } from '../obligations.ts';
import type { Question } from '../questions/question.ts';
import type { RecordedEvent } from '../recorded-event.ts';
import type { ManagedFold } from './managed-fold.ts';
import type { Lease, ManagedTask, Submission } from './managed-task.ts';
import type { ManagedScope, ManagedSettings, ScopeRequest } from './scope.ts';

/** The records of a scope, loaded by a store. */
export interface ScopeRecords {
  readonly now: number;
  readonly settings: ManagedSettings;
  readonly fold: ManagedFold;
  readonly runOwner: string | null;
  readonly knownEvent: RecordedEvent | null;
  readonly candidates: readonly string[];
  /** Ids of the children that were asked for, by parent. */
  readonly children: ReadonlyMap<string, readonly string[]>;
  readonly rows: ReadonlySet<string>;
  readonly custodies: ReadonlyMap<string, TaskCustody>;
}

/** What was found of a request before the tasks that it is about are known. */
export interface FoundByRequest {
  readonly runOwner: string | null;
  /** The task of the requested question; null if there is none. */
  readonly asker: string | null;
  readonly knownEvent: RecordedEvent | null;
  readonly candidates: readonly string[];
}

/** The tasks that a request is about: those that it names, and those that its run, question, event and holder lead to. */
export function namedTasks(request: ScopeRequest, found: FoundByRequest): readonly string[] {
  const owners = [found.runOwner, found.asker, found.knownEvent?.['task_id']].filter(
    (id) => typeof id === 'string',
  );
  return [...new Set([...request.taskIds, ...owners, ...found.candidates])];
}

/** A scope over loaded records. After a decision was written it tells what is new. */
export function loadedScope(records: ScopeRecords): ManagedScope {
  const { fold } = records;
  return {
    now: records.now,
    settings: records.settings,
    runOwner: records.runOwner,
    knownEvent: records.knownEvent,
    candidates: records.candidates,
    taskOf: (taskId): ManagedTask | null => fold.tasks.get(taskId) ?? null,
    leaseOf: (taskId): Lease | null => fold.leases.get(taskId) ?? null,
    childrenOf: (taskId) => (records.children.get(taskId) ?? []).flatMap((id) => fold.tasks.get(id) ?? []),
    submissionOf: (key): Submission | null => fold.submissions.get(key) ?? null,
    questionOf: (questionId): Question | null => fold.questions.get(questionId) ?? null,
    questionsOf: (taskId) => fold.owedQuestions(taskId),
    evidenceOf: (taskId) => evidenceOf(records.custodies.get(taskId) ?? emptyCustody(taskId)),
    hasRow: (taskId) => records.rows.has(taskId),
  };
}

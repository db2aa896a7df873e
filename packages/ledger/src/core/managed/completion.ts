import { canonicalText } from '../canonical-text.ts';
import { chainHash } from '../event-hash.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { NewEvent } from '../recorded-event.ts';
import { areParentsDone } from './evolve.ts';
import type { ManagedTask } from './managed-task.ts';
import { isDone } from './managed-task.ts';
import type { ManagedScope } from './scope.ts';

/** What a run hands in as its end. */
export interface Completion {
  readonly result: JsonValue;
  /** @default the result, if it is text */
  readonly summary?: string | null;
  readonly metadata?: JsonObject | null;
}

/** The completion with its defaults filled in; what is hashed and stored. */
export function withDefaults(given: Completion): Required<Completion> {
  const metadata = given.metadata ?? null;
  return {
    result: given.result,
    summary: given.summary ?? (typeof given.result === 'string' ? given.result : null),
    metadata: metadata === null || Object.keys(metadata).length === 0 ? null : metadata,
  };
}

/** The hash by which an accepted completion is known again: by meaning, the order of keys ignored. */
export function completionHash(given: Completion): string {
  return chainHash('', canonicalText({ ...withDefaults(given) }));
}

/** The event that completes a task. */
export function completedEvent(
  scope: ManagedScope,
  task: ManagedTask,
  more: { readonly completion: Completion; readonly runId: string | null; readonly facts?: JsonObject },
): NewEvent {
  return {
    ...more.facts,
    type: 'task.completed',
    task_id: task.task_id,
    ...(more.runId === null ? {} : { run_id: more.runId }),
    ...withDefaults(more.completion),
    result_hash: completionHash(more.completion),
    evidence: { ...scope.evidenceOf(task.task_id) },
  };
}

/** Ids of the parents that are not done. */
export function openParents(scope: ManagedScope, task: ManagedTask): readonly string[] {
  return task.parents.filter((id) => !isDone(scope.taskOf(id)));
}

/** Sets the children free that waited for nothing else than the given task, which is done now. */
export function promotions(scope: ManagedScope, taskId: string): readonly NewEvent[] {
  const asDone = (id: string): ManagedTask | null => {
    const task = scope.taskOf(id);
    return id === taskId && task !== null ? { ...task, status: 'completed' } : task;
  };
  return scope
    .childrenOf(taskId)
    .filter((child) => child.status === 'todo' && areParentsDone(child, asDone))
    .map((child) => ({ type: 'task.promoted', task_id: child.task_id }));
}

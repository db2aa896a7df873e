import type { Decision } from './decision.ts';
import { refuse } from './decision.ts';
import type { Attempt, Lease, ManagedTask } from './managed-task.ts';
import { attemptOf } from './managed-task.ts';
import type { ManagedScope } from './scope.ts';

/** Who writes: the run, and the fence that it was granted. */
export interface HolderClaim {
  /** Null where the verb names the run only. */
  readonly taskId: string | null;
  readonly runId: string;
  readonly fence: number;
}

/** A task that is there, or why not. */
export type Found<T> =
  | ({ readonly ok: true } & T)
  | { readonly ok: false; readonly decision: Decision & { readonly kind: 'refused' } };

const no = (decision: Decision & { readonly kind: 'refused' }) => ({ ok: false, decision }) as const;

/** Finds a task. */
export function findTask(scope: ManagedScope, taskId: string): Found<{ readonly task: ManagedTask }> {
  const task = scope.taskOf(taskId);
  return task === null ? no(refuse('no_such_task', { task_id: taskId })) : { ok: true, task };
}

/** Finds a run, and the task that it belongs to; a run of another task is told from one that nobody knows. */
export function findRun(
  scope: ManagedScope,
  { taskId, runId }: Pick<HolderClaim, 'taskId' | 'runId'>,
): Found<{ readonly task: ManagedTask; readonly run: Attempt }> {
  if (taskId !== null && scope.taskOf(taskId) === null)
    return no(refuse('no_such_task', { task_id: taskId }));
  const owner = scope.runOwner;
  if (taskId !== null && owner !== null && owner !== taskId) {
    return no(refuse('foreign_run', { task_id: taskId, run_id: runId, owner }));
  }
  const task = owner === null ? null : scope.taskOf(owner);
  const run = task === null ? null : attemptOf(task, runId);
  if (task === null || run === null) {
    const current = taskId === null ? null : (scope.taskOf(taskId)?.current_run_id ?? null);
    return no(
      refuse('no_such_run', {
        ...(taskId === null ? {} : { task_id: taskId }),
        run_id: runId,
        current_run_id: current,
      }),
    );
  }
  return { ok: true, task, run };
}

/** The fence that writes of the task's holder must carry now; null while nobody holds it. */
export function currentFence(scope: ManagedScope, task: ManagedTask): number | null {
  const lease = scope.leaseOf(task.task_id);
  return lease?.open === true && lease.run_id === task.current_run_id ? lease.fence : null;
}

/**
 * Lets a write of a holder pass if its run holds the task under exactly this fence. An expired lease that nobody
 * took still holds: safety rests on the fence, the clock only says when others may take over.
 */
export function guardHolder(
  scope: ManagedScope,
  claim: HolderClaim,
): Found<{ readonly task: ManagedTask; readonly run: Attempt; readonly lease: Lease }> {
  const found = findRun(scope, claim);
  if (!found.ok) return found;
  const { task, run } = found;
  const facts = {
    task_id: task.task_id,
    run_id: run.run_id,
    current_run_id: task.current_run_id,
    status: task.status,
  };
  const current = currentFence(scope, task);
  const lease = scope.leaseOf(task.task_id);
  if (claim.fence !== current || lease === null) {
    return no(refuse('stale_fence', { ...facts, offered: claim.fence, current, run_outcome: run.outcome }));
  }
  if (task.current_run_id !== run.run_id) return no(refuse('not_current_run', facts));
  return { ok: true, task, run, lease };
}

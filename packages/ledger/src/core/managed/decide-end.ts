import { promotions } from './completion.ts';
import type { Decision } from './decision.ts';
import { accept, refuse } from './decision.ts';
import type { HolderClaim } from './holder-guard.ts';
import { findTask, guardHolder } from './holder-guard.ts';
import type { ManagedTask } from './managed-task.ts';
import { isEnded } from './managed-task.ts';
import type { ManagedScope } from './scope.ts';

/** Ends a task as failed: its holder says that it can't be done, now or later. */
export function decideFail(
  scope: ManagedScope,
  command: HolderClaim & { readonly reason: string; readonly error: string | null },
): Decision {
  const held = guardHolder(scope, command);
  if (!held.ok) return held.decision;
  const taskId = held.task.task_id;
  return accept([
    {
      type: 'task.failed',
      task_id: taskId,
      run_id: command.runId,
      reason: command.reason,
      error: command.error,
      evidence: { ...scope.evidenceOf(taskId) },
    },
  ]);
}

/** Ends a task because it is no longer wanted; the run that holds it loses it. */
export function decideCancel(
  scope: ManagedScope,
  command: { readonly taskId: string; readonly reason: string | null },
): Decision {
  const found = findTask(scope, command.taskId);
  if (!found.ok) return found.decision;
  const { task } = found;
  if (isEnded(task)) return refuse('task_ended', { task_id: task.task_id, status: task.status });
  return accept([
    {
      type: 'task.cancelled',
      task_id: task.task_id,
      ...currentRun(task),
      reason: command.reason,
      evidence: { ...scope.evidenceOf(task.task_id) },
    },
  ]);
}

/**
 * Files a task away. One that has not ended is given up by it, and its children need not wait for it any more.
 */
export function decideArchive(scope: ManagedScope, command: { readonly taskId: string }): Decision {
  const found = findTask(scope, command.taskId);
  if (!found.ok) return found.decision;
  const { task } = found;
  if (task.archived) return refuse('already_archived', { task_id: task.task_id, status: task.status });
  const archived = {
    type: 'task.archived',
    task_id: task.task_id,
    ...currentRun(task),
    ...(isEnded(task) ? {} : { evidence: { ...scope.evidenceOf(task.task_id) } }),
  };
  return accept([archived, ...promotions(scope, task.task_id)]);
}

function currentRun(task: ManagedTask): { readonly run_id?: string } {
  return task.current_run_id === null ? {} : { run_id: task.current_run_id };
}

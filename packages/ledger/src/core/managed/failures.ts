import type { NewEvent } from '../recorded-event.ts';
import type { ManagedTask, RunOutcome } from './managed-task.ts';
import type { ManagedScope } from './scope.ts';

/** The limit that a task's failures are counted against, and who set it. */
function failureLimit(
  scope: ManagedScope,
  task: ManagedTask,
): { readonly limit: number; readonly source: 'task' | 'ledger' } {
  return task.max_retries === null
    ? { limit: scope.settings.failure_limit, source: 'ledger' }
    : { limit: task.max_retries, source: 'task' };
}

/** True if one more failure would block the task. */
export function isLastChance(scope: ManagedScope, task: ManagedTask): boolean {
  return task.consecutive_failures + 1 >= failureLimit(scope, task).limit;
}

/** The breaker: blocks a task whose run just failed for the last time that is allowed; otherwise nothing. */
export function breaker(
  scope: ManagedScope,
  task: ManagedTask,
  failure: {
    readonly runId: string;
    readonly outcome: RunOutcome;
    readonly error: string;
    readonly forced?: boolean;
  },
): readonly NewEvent[] {
  if (failure.forced !== true && !isLastChance(scope, task)) return [];
  const { limit, source } = failureLimit(scope, task);
  return [
    {
      type: 'task.gave_up',
      task_id: task.task_id,
      run_id: failure.runId,
      failures: task.consecutive_failures + 1,
      effective_limit: limit,
      limit_source: source,
      error: failure.error.slice(0, 500),
      trigger_outcome: failure.outcome,
    },
  ];
}

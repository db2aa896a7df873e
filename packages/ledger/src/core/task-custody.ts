import type { CustodyFold } from './custody-fold.ts';
import type { TaskCustody } from './obligations.ts';
import { emptyTaskFacts } from './run-evidence.ts';

/** Collects what a fold knows of one task; for stores that hold the whole fold in memory. */
export function taskCustodyOf(fold: CustodyFold, taskId: string): TaskCustody {
  const evidence = [...fold.evidence.values()].filter((item) => item.task_id === taskId);
  const runs = [...fold.runs.values()].filter((run) => run.task_id === taskId && run.started);
  const own = new Set(runs.map((run) => run.run_id));
  return {
    task_id: taskId,
    runs: runs.sort((a, b) => a.first_seq - b.first_seq),
    invocations: [...fold.invocations.values()]
      .filter((item) => item.task_id === taskId && item.requested)
      .sort((a, b) => a.first_seq - b.first_seq),
    evidence,
    foreign_runs: evidence.flatMap((item) =>
      own.has(item.run_id) ? [] : (fold.runs.get(item.run_id) ?? []),
    ),
    facts: fold.tasks.get(taskId) ?? emptyTaskFacts(taskId),
  };
}

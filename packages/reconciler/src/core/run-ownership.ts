import type { RunRecord } from '@custody/ledger';

/** Whose run it is, seen from a task. `unknown` must not be told as "belongs to another". */
export type Ownership = 'owned' | 'foreign' | 'unknown';

/** Judges a run by its durable start; without one nothing is known (docs/contracts/custody.md, 1.8). */
export function ownershipOf(run: RunRecord | null, taskId: string): Ownership {
  if (run === null || !run.started) return 'unknown';
  return taskId !== '' && run.task_id === taskId ? 'owned' : 'foreign';
}

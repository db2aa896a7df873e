import type { TaskRow } from '../core/task-row.ts';

/** Reads the copies of rows that children keep on drives of their own. */
export interface ReplicaReader {
  /**
   * The copy of a task's row on a drive, or null if there is none that can be read: a copy adds to a row and
   * is never its truth. A relative drive is taken from the data root.
   */
  read(drive: string, taskId: string): Promise<TaskRow | null>;
}

import type { Ledger, TaskRow } from '@custody/ledger';
import { CliError } from './errors.ts';
import { isPlanned } from './output/error-report.ts';

/** How a row is read. */
export interface RowView {
  /** As a reader of results sees it: retries and replicas followed. */
  readonly effective: boolean;
}

/**
 * A row of the store, or null if there is none.
 *
 * @throws CliError `row_unreadable` if the row is there and can't be read: the store is at fault, not the caller.
 */
export async function loadRow(
  ledger: Ledger,
  taskId: string,
  view: RowView = { effective: false },
): Promise<TaskRow | null> {
  const { readEffectiveRow } = await import('@custody/ledger');
  try {
    if (view.effective) return await readEffectiveRow(ledger.rows, taskId, ledger.replicas);
    return (await ledger.rows.load(taskId))?.row ?? null;
  } catch (error) {
    if (!isPlanned(error) || error.code !== 'invalid_row') throw error;
    throw new CliError('row_unreadable', `the row of task ${taskId} can't be read: ${error.message}`, {
      hint: error.hint,
      facts: { ...error.facts, task_id: taskId },
      cause: error,
    });
  }
}

import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { loadRow } from '../load-row.ts';
import { withLedger } from '../open-store.ts';
import { onOneLine } from '../output/compact-json.ts';
import { printRefusal } from '../output/report.ts';

/** Options of `task get`. */
export interface TaskGetOptions {
  readonly taskId: string;
  /** Follow retries and replicas, as a reader of results sees the task. */
  readonly effective?: boolean | undefined;
}

/** Prints a row as it is kept: every value in its own spelling. */
export async function taskGet(
  context: CommandContext,
  { taskId, effective }: TaskGetOptions,
): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    const row = await loadRow(ledger, taskId, { effective: effective ?? false });
    if (row === null)
      return printRefusal(context, { outcome: 'not_found', task_id: taskId }, `there is no task ${taskId}`);
    const { printTaskRow } = await import('@custody/ledger');
    const text = printTaskRow(row);
    await context.out.write(`${context.json ? onOneLine(text) : text}\n`);
    return EXIT.done;
  });
}

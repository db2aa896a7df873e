import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { loadRow } from '../load-row.ts';
import { withLedger } from '../open-store.ts';
import { printRefusal, printReport } from '../output/report.ts';

/** Prints what a model is told of a task's custody; `{}` when the row discloses nothing. */
export async function handoff(
  context: CommandContext,
  { taskId }: { readonly taskId: string },
): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    const row = await loadRow(ledger, taskId, { effective: true });
    if (row === null)
      return printRefusal(context, { outcome: 'not_found', task_id: taskId }, `there is no task ${taskId}`);
    const { frameHandoff, handoffOf } = await import('@custody/ledger');
    const summary = handoffOf(row.value);
    const report = summary === null ? {} : { delegated_custody: summary };
    await printReport(context, report, () =>
      summary === null ? 'nothing to hand off' : frameHandoff(summary),
    );
    return EXIT.done;
  });
}

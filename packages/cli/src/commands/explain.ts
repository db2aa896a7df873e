import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { printRawReport } from '../output/raw-report.ts';
import { printRefusal } from '../output/report.ts';

/** Says of every field of a row whether it is frozen, which events it rests on, and how it was healed. */
export async function explain(
  context: CommandContext,
  { taskId }: { readonly taskId: string },
): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    const { explainTask } = await import('../explain/explain-task.ts');
    const { explanationText } = await import('../output/explanation-text.ts');
    const explanation = await explainTask(ledger, taskId);
    if (explanation === null)
      return printRefusal(context, { outcome: 'not_found', task_id: taskId }, `there is no task ${taskId}`);
    await printRawReport(context, explanation.report, () => explanationText(explanation, context));
    return EXIT.done;
  });
}

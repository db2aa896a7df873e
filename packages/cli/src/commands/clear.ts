import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import type { PassFlags } from '../open-reconciler.ts';
import { withReconciler } from '../open-reconciler.ts';
import { failedLines, planLines } from '../output/pass-text.ts';
import { printable } from '../output/printable.ts';
import { printReport } from '../output/report.ts';
import { printPlanChanged } from './plan-changed.ts';

/** Options of `clear`. */
export interface ClearOptions extends PassFlags {
  readonly taskId: string;
}

/** Heals one task's row, as on the kill path. A row that is true, not terminal or not there is not written. */
export async function clear(context: CommandContext, options: ClearOptions): Promise<ExitCode> {
  const { taskId } = options;
  return withReconciler(context, options, async (reconciler, pass) => {
    const report = await reconciler.clear(taskId, pass);
    if ('outcome' in report) return printPlanChanged(context, report);
    const did = report.plan === undefined ? 'refreshed' : 'would be refreshed';
    await printReport(context, report, () =>
      [
        ...planLines(report, `clear ${printable(taskId)}`, context),
        ...failedLines(report.failed, context),
        `${printable(taskId)}: ${report.refreshed ? did : 'nothing to change'}`,
      ].join('\n'),
    );
    return EXIT.done;
  });
}

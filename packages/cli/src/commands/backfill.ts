import type { BackfillReport } from '@custody/reconciler';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import type { PassFlags } from '../open-reconciler.ts';
import { withReconciler } from '../open-reconciler.ts';
import { failedLines, idLines, planLines } from '../output/pass-text.ts';
import { printReport } from '../output/report.ts';
import { printPlanChanged } from './plan-changed.ts';

/** Heals every terminal row that stopped being true. */
export async function backfill(context: CommandContext, options: PassFlags): Promise<ExitCode> {
  return withReconciler(context, options, async (reconciler, pass) => {
    const report = await reconciler.backfill(pass);
    if ('outcome' in report) return printPlanChanged(context, report);
    await printReport(context, report, () => humanBackfill(report, context));
    return EXIT.done;
  });
}

function humanBackfill(report: BackfillReport, context: CommandContext): string {
  const { examined, refreshed, failed } = report;
  const did = report.plan === undefined ? 'refreshed' : 'to refresh';
  return [
    ...planLines(report, 'backfill', context),
    ...failedLines(failed, context),
    `${examined} rows examined, ${refreshed.length} ${did}, ${failed.length} failed`,
    ...idLines('refreshed', report.plan === undefined ? refreshed : [], context),
    ...idLines('evidence still to be written', report.evidence_missing, context),
  ].join('\n');
}

import type { SweepReport } from '@custody/reconciler';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { readLiveTaskIds } from '../input/live-tasks.ts';
import type { GatewayFlag, JournalFlag, PassFlags } from '../open-reconciler.ts';
import { withReconciler } from '../open-reconciler.ts';
import { failedLines, idLines, planLines } from '../output/pass-text.ts';
import { printable, valueText } from '../output/printable.ts';
import { printReport } from '../output/report.ts';
import { shellWord } from '../output/shell-word.ts';
import { printPlanChanged } from './plan-changed.ts';

/** Options of `sweep`. */
export interface SweepOptions extends PassFlags, GatewayFlag, JournalFlag {
  /** The tasks whose owners are alive, or `@FILE`; not known when absent. */
  readonly live?: string | undefined;
}

/** One sweep: orphaned runs through the gateway, then the rows of runs that settled since the last sweep. */
export async function sweep(context: CommandContext, options: SweepOptions): Promise<ExitCode> {
  const live = options.live === undefined ? null : await readLiveTaskIds(options.live);
  return withReconciler(context, options, async (reconciler, pass) => {
    const report = await reconciler.sweep({ ...pass, live });
    if ('outcome' in report) return printPlanChanged(context, report);
    await printReport(context, report, () => humanSweep(report, options, context));
    return EXIT.done;
  });
}

function journalLines(journals: SweepReport['journals']): readonly string[] {
  if (journals === undefined) return [];
  const { applied, stale, conflict, retry, errors } = journals;
  return [
    `journals: ${applied} applied, ${stale} stale, ${conflict} in conflict, ${retry} to be tried again`,
    ...errors.map((error) => `journals that can't be read: ${printable(error)}`),
  ];
}

/** The sweep as it was asked for: with other owners alive another plan would be made. */
function sameSweep({ live, gateway, journal = [] }: SweepOptions): string {
  const options = [
    ...(live === undefined ? [] : ['--live', live]),
    ...(gateway === undefined ? [] : ['--gateway', gateway]),
    ...journal.flatMap((directory) => ['--journal', directory]),
  ];
  return ['sweep', ...options.map(shellWord)].join(' ');
}

function humanSweep(report: SweepReport, options: SweepOptions, context: CommandContext): string {
  const { events_scanned, refreshed, deferred, orphans, failed } = report;
  const did = report.plan === undefined ? 'refreshed' : 'to refresh';
  return [
    ...planLines(report, sameSweep(options), context),
    ...orphans.map(
      (orphan) =>
        `orphan ${valueText(orphan['run_id'] ?? orphan['invocation_id'])}: ${valueText(orphan.action)}`,
    ),
    ...failedLines(failed, context),
    `${events_scanned} events scanned, ${refreshed.length} ${did}, ${deferred.length} deferred, ${orphans.length} orphans, ${failed.length} failed`,
    ...idLines('refreshed', report.plan === undefined ? refreshed : [], context),
    ...idLines('evidence still to be written', report.evidence_missing, context),
    ...journalLines(report.journals),
    ...idLines('requeued', report.requeued, context),
    ...idLines('gave up', report.gave_up ?? [], context),
    ...idLines('lease extended, the worker lives', report.extended ?? [], context),
  ].join('\n');
}

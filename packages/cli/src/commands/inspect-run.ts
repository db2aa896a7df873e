import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { printRefusal, printReport } from '../output/report.ts';
import { inspectionText, toTimeline } from '../output/timeline.ts';
import { eventsOfRun } from '../task-events.ts';

/** Prints a run: its record, what it owes, and everything that was recorded of it. */
export async function inspectRun(
  context: CommandContext,
  { runId }: { readonly runId: string },
): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    const { obligationsOfRun } = await import('../output/obligations-report.ts');
    const run = await ledger.custody.run(runId);
    if (run === null)
      return printRefusal(context, { outcome: 'not_found', run_id: runId }, `there is no run ${runId}`);
    const { toRunReport } = await import('@custody/ledger');
    const task = run.managed && ledger.managesTasks ? await ledger.tasks.get(run.task_id) : null;
    const attempt = task?.runs.find((item) => item.run_id === runId) ?? null;
    const shown = { ...run, ...toRunReport(run, attempt) };
    const timeline = toTimeline(await eventsOfRun(ledger, runId));
    const obligations = obligationsOfRun(run);
    await printReport(context, { ...shown, obligations, timeline }, () => {
      const record = Object.entries(shown).map(([name, value]) => [name, JSON.stringify(value)] as const);
      return inspectionText(`run ${runId}`, { record, obligations, timeline }, context);
    });
    return EXIT.done;
  });
}

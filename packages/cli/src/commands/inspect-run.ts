import type { Attempt, RunRecord } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { printRefusal, printReport } from '../output/report.ts';
import { spanText } from '../output/time-text.ts';
import { inspectionText, toTimeline } from '../output/timeline.ts';
import { eventsOfRun } from '../task-events.ts';

/** Prints a run: its record, what it owes, and everything that was recorded of it. */
export async function inspectRun(
  context: CommandContext,
  { runId }: { readonly runId: string },
): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    const { obligationsOfRun } = await import('../output/obligations-report.ts');
    const { barOfRun } = await import('../output/bars-of-task.ts');
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
      const { facts, ...fields } = shown;
      // Facts that its starts named stand beside the other fields: a person looks for a field, not for its place.
      const record = Object.entries({ ...fields, ...facts })
        .filter(([name]) => !TOLD_ABOVE.has(name))
        .map(([name, value]) => [name, JSON.stringify(value)] as const);
      const bars = run.started ? [barOfRun(run, attempt)] : [];
      return inspectionText(titleOf(run, attempt), { bars, record, obligations, timeline }, context);
    });
    return EXIT.done;
  });
}

/** Fields that the title and the bar tell. */
const TOLD_ABOVE: ReadonlySet<string> = new Set(['run_id', 'started', 'settled', 'has_verdict', 'state']);

function titleOf(run: RunRecord, attempt: Attempt | null): string {
  const whose = run.task_id === '' ? 'of no known task' : `of ${run.task_id}`;
  const name = `run ${run.run_id}, ${run.role} ${whose}`;
  if (!run.started) return `${name}: its start is not in the log`;
  if (!run.settled) return `${name}: has not ended`;
  const outcome = attempt?.outcome ?? (run.terminal_state === '' ? 'closed as absent' : run.terminal_state);
  const span = Date.parse(run.settled_at) - Date.parse(run.started_at);
  return `${name}: ${outcome} after ${spanText(span)}`;
}

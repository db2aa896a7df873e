import type { RunReport } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { loadRow } from '../load-row.ts';
import { withManagedLedger } from '../open-managed.ts';
import { printable } from '../output/printable.ts';
import { printRefusal } from '../output/report.ts';

/** Prints every run of a task, oldest first. */
export async function runList(
  context: CommandContext,
  { task: taskId }: { readonly task: string },
): Promise<ExitCode> {
  return withManagedLedger(context, { use: 'look', ids: { '--task': taskId } }, async (ledger) => {
    const runs = await ledger.runs.list(taskId);
    if (runs.length === 0 && (await loadRow(ledger, taskId)) === null)
      return printRefusal(context, { outcome: 'not_found', task_id: taskId }, `there is no task ${taskId}`);
    if (context.json) for (const run of runs) await context.out.write(`${JSON.stringify(run)}\n`);
    else await context.out.write(humanRuns(runs, context));
    return EXIT.done;
  });
}

function humanRuns(runs: readonly RunReport[], { paint }: CommandContext): string {
  if (runs.length === 0) return 'no run yet\n';
  return runs
    .map(({ run_id, outcome, state, fence, started_at, holder, summary, error }) => {
      const stands = printable(outcome ?? state).padEnd(10);
      const parts = [
        printable(run_id),
        outcome === null ? paint.yellow(stands) : stands,
        (fence === null ? 'no fence' : `fence ${fence}`).padEnd(9),
        started_at,
        printable(holder ?? '-'),
        printable(summary ?? error ?? ''),
      ];
      return `${parts.join('  ').trimEnd()}\n`;
    })
    .join('');
}

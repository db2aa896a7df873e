import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { loadRow } from '../load-row.ts';
import { withLedger } from '../open-store.ts';
import { onOneLine } from '../output/compact-json.ts';
import { printRawReport } from '../output/raw-report.ts';
import { printRefusal } from '../output/report.ts';
import { inspectionText, toTimeline } from '../output/timeline.ts';
import { eventsOfTask } from '../task-events.ts';

/** Prints a task: its row, what it owes, and everything that was recorded of it. */
export async function inspectTask(
  context: CommandContext,
  { taskId }: { readonly taskId: string },
): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    const { isTerminalStatus, printTaskRow } = await import('@custody/ledger');
    const { obligationsOfTask } = await import('../output/obligations-report.ts');
    const row = await loadRow(ledger, taskId);
    const custody = (await ledger.custody.tasks([taskId])).get(taskId);
    const { barsOfTask } = await import('../output/bars-of-task.ts');
    const events = custody === undefined ? [] : await eventsOfTask(ledger, custody);
    const timeline = toTimeline(events);
    if (custody === undefined || (row === null && timeline.length === 0)) {
      return printRefusal(context, { outcome: 'not_found', task_id: taskId }, `there is no task ${taskId}`);
    }
    const isEnded = row !== null && isTerminalStatus(row.status);
    const questions = ledger.managesTasks && !isEnded ? await ledger.questions.list({ taskId }) : [];
    const managed = ledger.managesTasks ? await ledger.tasks.get(taskId) : null;
    const obligations = obligationsOfTask(custody, questions);
    const fields = {
      task_id: JSON.stringify(taskId),
      status: JSON.stringify(row?.status ?? null),
      row: row === null ? 'null' : printTaskRow(row),
      obligations: JSON.stringify(obligations),
      timeline: JSON.stringify(timeline),
    };
    await printRawReport(context, fields, () => {
      const record =
        row === null ? null : [...row.raw].map(([name, text]) => [name, onOneLine(text)] as const);
      const bars = barsOfTask(custody, { attempts: managed?.runs ?? [], events });
      const title = `task ${taskId}${row === null ? '' : `: ${row.status}`}`;
      return inspectionText(title, { bars, record, obligations, timeline }, context);
    });
    return EXIT.done;
  });
}

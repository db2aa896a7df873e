import type { Ledger, TaskRow } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { loadRow } from '../load-row.ts';
import { withLedger } from '../open-store.ts';
import { onOneLine } from '../output/compact-json.ts';
import { lineWriter } from '../output/line-writer.ts';
import { printable } from '../output/printable.ts';
import { remark } from '../output/report.ts';

/** Options of `task list`. */
export interface TaskListOptions {
  readonly status?: string | undefined;
  /** Only rows that stopped being true: those a backfill would change. */
  readonly stale?: boolean | undefined;
}

/** Prints rows by task id. Rows that can't be read are named on stderr and left out. */
export async function taskList(
  context: CommandContext,
  { status, stale }: TaskListOptions,
): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    const { printTaskRow } = await import('@custody/ledger');
    const rowLine = (row: TaskRow) => (context.json ? onOneLine(printTaskRow(row)) : humanRow(row, context));
    const rows = stale === true ? staleRows(ledger, context) : allRows(ledger, context, status);
    const lines = lineWriter(context.out);
    for await (const row of rows) {
      if (context.out.isClosed()) break;
      if (status === undefined || row.status === status) await lines.write(rowLine(row));
    }
    await lines.flush();
    return EXIT.done;
  });
}

function humanRow(row: TaskRow, { paint }: CommandContext): string {
  const list = row.value['delegated_runs_unreconciled'];
  const owed =
    Array.isArray(list) && list.length > 0 ? paint.yellow(printable(list.map(String).join(', '))) : '';
  return `${printable(row.task_id).padEnd(24)}  ${printable(row.status).padEnd(18)}  ${owed}`.trimEnd();
}

async function* allRows(
  ledger: Ledger,
  context: CommandContext,
  status: string | undefined,
): AsyncGenerator<TaskRow, void> {
  const problems: string[] = [];
  const rows = ledger.rows.list({
    ...(status === undefined ? {} : { status }),
    onProblem: ({ place, message }) => problems.push(`${place} is left out: ${message}`),
  });
  for await (const { row } of rows) {
    await tellProblems(context, problems);
    yield row;
  }
  await tellProblems(context, problems);
}

/** The plan of a backfill is the only exact answer: it compares every candidate with the log. */
async function* staleRows(ledger: Ledger, context: CommandContext): AsyncGenerator<TaskRow, void> {
  const { createReconciler } = await import('@custody/reconciler');
  const report = await createReconciler(ledger).backfill({ dryRun: true });
  if ('outcome' in report) return;
  await tellProblems(
    context,
    report.failed.map(({ task_id, error }) => `${task_id} is left out: ${error}`),
  );
  for (const taskId of report.refreshed) {
    const row = await loadRow(ledger, taskId);
    if (row !== null) yield row;
  }
}

async function tellProblems(context: CommandContext, problems: string[]): Promise<void> {
  for (const problem of problems.splice(0)) await remark(context, printable(problem));
}

import type { Ledger, TaskCustody } from '@custody/ledger';
import type { AuditReport, TaskAudit } from '@custody/reconciler';
import type { CommandContext, Paint } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { printable } from '../output/printable.ts';
import { printReport } from '../output/report.ts';
import type { Cell } from '../output/table.ts';
import { renderTable } from '../output/table.ts';
import { sinceText } from '../output/time-text.ts';

/** Options of `audit`. */
export interface AuditOptions {
  /** Tasks to audit; those that owe something when empty. */
  readonly taskIds: readonly string[];
  /** Every task that has a row or owes something. */
  readonly all?: boolean | undefined;
  /** Exit 1 when a task owes something or a row is not true. */
  readonly check?: boolean | undefined;
}

/** Prints who holds what, and whether the rows say so. Reads only. */
export async function audit(
  context: CommandContext,
  { taskIds, all, check }: AuditOptions,
): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    const { createReconciler } = await import('@custody/reconciler');
    const report = await createReconciler(ledger).audit(taskIds, { all: all ?? false });
    const since = context.json ? new Map<string, string>() : await owedSince(ledger, report);
    await printReport(context, report, () => humanAudit(report, since, context));
    return check === true && hasFindings(report) ? EXIT.refused : EXIT.done;
  });
}

/** What `--check` looks for: a debt, or a row that does not tell the truth. */
function hasFindings({ tasks, parked }: AuditReport): boolean {
  return (
    parked.length > 0 ||
    tasks.some((task) => !task.current || task.row_error !== undefined || task.audit.unreconciled.length > 0)
  );
}

/** Since when the oldest debt of each task is owed; empty for a task that owes nothing. */
async function owedSince(ledger: Ledger, { tasks }: AuditReport): Promise<ReadonlyMap<string, string>> {
  const { compareCodePoints } = await import('@custody/ledger');
  const custodies = await ledger.custody.tasks(tasks.map((task) => task.task_id));
  return new Map(
    tasks.map(({ task_id, audit: { unreconciled }, open_attempts: attempts }) => {
      const times = debtTimes(custodies.get(task_id), new Set<string>([...unreconciled, ...attempts]));
      return [task_id, [...times].sort(compareCodePoints)[0] ?? ''];
    }),
  );
}

/** A run is owed since its start, a patch since the end of its run, an invocation since its request. */
function debtTimes(custody: TaskCustody | undefined, owed: ReadonlySet<string>): readonly string[] {
  const runs = custody?.runs ?? [];
  const invocations = custody?.invocations ?? [];
  return [
    ...runs.filter((run) => owed.has(run.run_id)).map((run) => run.started_at),
    ...runs.filter((run) => owed.has(`patch:${run.run_id}`)).map((run) => run.settled_at),
    ...invocations
      .filter((item) => owed.has(`invocation:${item.invocation_id}`))
      .map((item) => item.requested_at),
  ];
}

function humanAudit(
  report: AuditReport,
  since: ReadonlyMap<string, string>,
  context: CommandContext,
): string {
  const { paint, out, now } = context;
  const rows = report.tasks.map((task) => cellsOf(task, sinceText(since.get(task.task_id), now()), paint));
  const style = { columns: out.columns, bold: paint.bold };
  const table =
    rows.length === 0
      ? 'nothing is owed\n'
      : renderTable(['TASK', 'STATUS', 'OWES', 'SINCE', 'ROW'], rows, style);
  const parked = report.parked.map(
    ({ task_id, failures, error }) =>
      `${paint.red('parked')} ${printable(task_id)} after ${failures} failures: ${printable(error)}\n`,
  );
  return [table, ...parked, ...totalsLines(report, now()).map((line) => `${paint.dim(line)}\n`)].join('');
}

function totalsLines({ totals }: AuditReport, nowMs: number): readonly string[] {
  const { open_runs, pending_invocations, undisposed_patches, oldest_unreconciled_at: oldest } = totals;
  const counts = `${open_runs} open runs, ${pending_invocations} pending invocations, ${undisposed_patches} undisposed patches`;
  return oldest === null ? [counts] : [counts, `the oldest since ${oldest} (${sinceText(oldest, nowMs)})`];
}

function cellsOf(task: TaskAudit, since: string, paint: Paint): readonly Cell[] {
  const owes = [
    ...task.audit.unreconciled,
    ...task.open_attempts.map((id) => `attempt:${id}`),
    ...task.open_questions.map((id) => `question:${id}`),
  ];
  return [
    { text: printable(task.task_id) },
    task.status === null ? { text: 'no row', colour: paint.dim } : { text: printable(task.status) },
    owes.length === 0 ? { text: 'nothing', colour: paint.dim } : { text: printable(owes.join(', ')) },
    { text: since },
    rowVerdict(task, paint),
  ];
}

/** A row of a task that has not ended discloses nothing yet; that is no fault. */
function rowVerdict(task: TaskAudit, paint: Paint): Cell {
  if (task.row_error !== undefined) return { text: 'unreadable', colour: paint.red };
  if (task.status === null) return { text: '-', colour: paint.dim };
  if (task.current) return { text: 'true', colour: paint.green };
  return task.terminal ? { text: 'stale', colour: paint.red } : { text: 'not ended', colour: paint.dim };
}

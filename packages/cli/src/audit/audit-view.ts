import type { JsonObject, Lease, Ledger, Past, Question } from '@custody/ledger';
import type { AuditedLedger, AuditReport, TaskAudit } from '@custody/reconciler';
import type { OwedItem, Telling } from './owed-item.ts';
import { isHeld, owedItems } from './owed-item.ts';

/** Something that the past can't tell, and why. */
interface NotKnown {
  readonly what: string;
  readonly why: string;
}

/** A task as an audit shows it; whether its row was true is not known of the past. */
export type ShownTask = Omit<TaskAudit, 'current'> & { readonly current: boolean | null };

/** What `audit` prints. */
export interface AuditView {
  /** The newest event that it knows; null when the log can't be read. */
  readonly seq: number | null;
  /** The moment for which it speaks; null for a log that was still empty. */
  readonly at: string | null;
  /** What is owed, oldest first. */
  readonly owed: readonly OwedItem[];
  /** Runs that hold their tasks, oldest first. */
  readonly held: readonly OwedItem[];
  readonly tasks: readonly ShownTask[];
  readonly totals: AuditReport['totals'];
  readonly parked: AuditReport['parked'];
  readonly deferred: AuditReport['deferred'];
  /** Events that no sweep has looked at; null of the past, and when tasks were named. */
  readonly cursor_lag: number | null;
  /** By pass: when it ran and its counts; null as `cursor_lag`. */
  readonly last_pass: JsonObject | null;
  /** Empty for the present. */
  readonly not_known: readonly NotKnown[];
}

/** Which tasks are audited; those that owe something or are held when no id is given. */
export interface AuditScope {
  readonly taskIds: readonly string[];
  readonly all: boolean;
}

/** A ledger, now. */
export async function presentView(
  ledger: Ledger,
  scope: AuditScope,
  { program, nowMs }: { readonly program: string; readonly nowMs: number },
): Promise<AuditView> {
  const { auditedLedger, createReconciler } = await import('@custody/reconciler');
  const isReadable = await ledger.custody.isReadable();
  const reconciler = createReconciler(ledger);
  const report = await reconciler.audit(scope.taskIds, { all: scope.all });
  // The figures of the whole ledger are left out where one asks for a task: they would cost more than the answer.
  const stats = scope.taskIds.length === 0 && isReadable ? await reconciler.stats() : null;
  const running = ledger.managesTasks ? await ledger.leases.running() : [];
  const items = await itemsOf(report, auditedLedger(ledger), {
    leases: running.flatMap((task) => task.lease ?? []),
    telling: { nowMs, program, isPast: false },
  });
  return {
    seq: isReadable ? (await ledger.head()).seq : null,
    at: new Date(nowMs).toISOString(),
    ...items,
    tasks: report.tasks,
    totals: report.totals,
    parked: report.parked,
    deferred: report.deferred,
    cursor_lag: stats?.cursor_lag ?? null,
    last_pass: stats?.last_pass ?? null,
    not_known: [],
  };
}

/** A ledger as it stood, from its log alone. */
export async function pastView(past: Past, scope: AuditScope, program: string): Promise<AuditView> {
  const { compareCodePoints } = await import('@custody/ledger');
  const { auditTasks } = await import('@custody/reconciler');
  const source: AuditedLedger = {
    custody: past.custody,
    rows: past.rows,
    openQuestions: () => past.questions.list({ open: true }),
    state: { load: async () => null },
  };
  const everything = async () =>
    [...new Set([...(await past.custody.owingTaskIds()), ...past.rows.taskIds()])].sort(compareCodePoints);
  const ids = scope.taskIds.length > 0 ? scope.taskIds : scope.all ? await everything() : null;
  const report = await auditTasks(source, ids);
  const items = await itemsOf(report, source, {
    leases: past.leases,
    telling: { nowMs: past.at === null ? null : Date.parse(past.at), program, isPast: true },
  });
  return {
    seq: past.seq,
    at: past.at,
    ...items,
    tasks: report.tasks.map((task) => ({ ...task, current: null })),
    totals: report.totals,
    parked: [],
    deferred: [],
    cursor_lag: null,
    last_pass: null,
    not_known: NOT_LOGGED,
  };
}

const NOT_LOGGED: readonly NotKnown[] = [
  {
    what: 'rows',
    why: 'only rows of managed tasks and those of task.recorded are in the log, without evidence',
  },
  { what: 'leases', why: 'signs of life are in no log: which lease had run out is not known' },
  {
    what: 'passes',
    why: 'parked and deferred tasks, the cursor and the last passes are kept beside the log',
  },
];

async function itemsOf(
  report: AuditReport,
  source: AuditedLedger,
  { leases, telling }: { readonly leases: readonly Lease[]; readonly telling: Telling },
): Promise<Pick<AuditView, 'owed' | 'held'>> {
  const custodies = await source.custody.tasks(report.tasks.map((task) => task.task_id));
  const leaseOf = new Map(leases.map((lease) => [lease.task_id, lease]));
  const questions = groupByTask(await source.openQuestions());
  const items = report.tasks.flatMap((audit) =>
    owedItems(
      {
        audit,
        custody: custodies.get(audit.task_id),
        lease: leaseOf.get(audit.task_id),
        questions: questions.get(audit.task_id) ?? [],
      },
      telling,
    ),
  );
  const sorted = [...items].sort(byAge);
  return { owed: sorted.filter((item) => !isHeld(item)), held: sorted.filter(isHeld) };
}

function groupByTask(questions: readonly Question[]): ReadonlyMap<string, readonly Question[]> {
  const groups = new Map<string, Question[]>();
  for (const question of questions)
    groups.set(question.task_id, [...(groups.get(question.task_id) ?? []), question]);
  return groups;
}

/** What has no time may be older than anything else, and is told first. Ties stay in the order of their tasks. */
function byAge(left: OwedItem, right: OwedItem): number {
  const [a, b] = [left.since ?? '', right.since ?? ''];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** True for a row that tells something else than the log: one that is stale, or that nobody can read. */
export function isUntrue(task: ShownTask): boolean {
  return task.row_error !== undefined || (task.terminal && task.current === false);
}

/** What `--check` looks for: a debt, or a row that does not tell the truth. */
export function hasFindings({ owed, tasks, parked }: AuditView): boolean {
  return (
    owed.length > 0 || parked.length > 0 || tasks.some((task) => isUntrue(task) || task.current === false)
  );
}

import type { CustodyTotals, JsonValue, Ledger, TaskCustody, TaskRow } from '@custody/ledger';
import {
  compareCodePoints,
  evidenceOf,
  isTerminalStatus,
  LedgerError,
  openAttemptIds,
} from '@custody/ledger';
import type { Audit } from '../core/audit.ts';
import { audit, auditSource } from '../core/audit.ts';
import { isDisclosed, storedList } from '../core/disclosure.ts';
import type { ParkedItem } from '../core/parked.ts';
import { PARK_AFTER } from '../core/parked.ts';
import { isEvidenceStale } from '../core/stale-evidence.ts';
import { loadFailures } from './failure-log.ts';
import type { HealContext } from './heal-rows.ts';
import { pagesOf } from './heal-rows.ts';

/** What one task owes beside what its row says. */
export interface TaskAudit {
  readonly task_id: string;
  /** Status of the row; null when there is none. */
  readonly status: string | null;
  readonly terminal: boolean;
  readonly audit: Audit;
  /** The list stored on the row. */
  readonly stored: JsonValue;
  /** True if the row says what the log says. */
  readonly current: boolean;
  /** Open runs that hold the task itself. */
  readonly open_attempts: readonly string[];
  /** Questions that wait for a person's answer. */
  readonly open_questions: readonly string[];
  /** Why the row can't be read; absent when it can. What the log says of the task is known all the same. */
  readonly row_error?: string;
}

/** What a ledger owes. */
export interface AuditReport {
  readonly tasks: readonly TaskAudit[];
  readonly totals: Pick<
    CustodyTotals,
    'open_runs' | 'pending_invocations' | 'undisposed_patches' | 'oldest_unreconciled_at'
  >;
  /** Tasks that failed to heal again and again; sweeps leave them alone. */
  readonly parked: readonly (ParkedItem & { readonly task_id: string })[];
}

/** Audits tasks for a person; nothing is stored. Without ids: the tasks that owe something. */
export async function auditTasks(
  context: HealContext,
  taskIds: readonly string[] | null,
): Promise<AuditReport> {
  const { ledger } = context;
  const questions = await openQuestions(ledger);
  const ids =
    taskIds ??
    [...new Set([...(await ledger.custody.owingTaskIds()), ...questions.keys()])].sort(compareCodePoints);
  const readable = await ledger.custody.isReadable();
  const tasks: TaskAudit[] = [];
  for (const page of pagesOf(ids)) {
    const custodies = await ledger.custody.tasks(page);
    for (const id of page) {
      const custody = custodies.get(id);
      if (custody !== undefined)
        tasks.push({
          ...(await auditOne(context, custody, readable)),
          open_questions: questions.get(id) ?? [],
        });
    }
  }
  const { open_runs, pending_invocations, undisposed_patches, oldest_unreconciled_at } =
    await ledger.custody.totals();
  const failures = await loadFailures(ledger.state);
  return {
    tasks,
    totals: { open_runs, pending_invocations, undisposed_patches, oldest_unreconciled_at },
    parked: [...failures]
      .filter(([, item]) => item.failures >= PARK_AFTER)
      .map(([task_id, item]) => ({ task_id, ...item })),
  };
}

/** Ids of the questions that wait for an answer, by task. */
async function openQuestions(ledger: Ledger): Promise<ReadonlyMap<string, readonly string[]>> {
  const byTask = new Map<string, string[]>();
  if (!ledger.managesTasks) return byTask;
  for (const { task_id, question_id } of await ledger.questions.list({ open: true }))
    byTask.set(task_id, [...(byTask.get(task_id) ?? []), question_id]);
  return byTask;
}

async function auditOne(
  context: HealContext,
  custody: TaskCustody,
  readable: boolean,
): Promise<Omit<TaskAudit, 'open_questions'>> {
  const result = audit(custody.task_id, 'audit', auditSource(custody, readable));
  const { row, error } = await loadReadable(context, custody.task_id);
  const value = row?.value ?? {};
  return {
    task_id: custody.task_id,
    status: row?.status ?? null,
    terminal: row !== null && isTerminalStatus(row.status),
    audit: result,
    stored: storedList(value),
    current: isDisclosed(value, result) && !isEvidenceStale(value, evidenceOf(custody, readable)),
    open_attempts: openAttemptIds(custody),
    ...(error === null ? {} : { row_error: error }),
  };
}

/** One row that can't be read never hides what the other tasks owe. */
async function loadReadable(
  context: HealContext,
  taskId: string,
): Promise<{ readonly row: TaskRow | null; readonly error: string | null }> {
  try {
    return { row: (await context.rows.load(taskId))?.row ?? null, error: null };
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'invalid_row')
      return { row: null, error: error.message };
    throw error;
  }
}

/** Ids of all tasks that have a row or owe something. */
export async function allTaskIds(ledger: Ledger): Promise<readonly string[]> {
  const ids = new Set(await ledger.custody.owingTaskIds());
  for await (const { row } of ledger.rows.list({})) ids.add(row.task_id);
  return [...ids].sort(compareCodePoints);
}

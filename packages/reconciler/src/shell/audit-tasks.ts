import type {
  CustodyDebts,
  JsonValue,
  Ledger,
  LoadedRow,
  Question,
  StateStore,
  TaskCustody,
  TaskRow,
} from '@custody/ledger';
import {
  compareCodePoints,
  evidenceOf,
  isTerminalStatus,
  LedgerError,
  openAttemptIds,
} from '@custody/ledger';
import type { Audit } from '../core/audit.ts';
import { audit, auditSource } from '../core/audit.ts';
import { parseDeferred } from '../core/deferred.ts';
import { isDisclosed, storedList } from '../core/disclosure.ts';
import type { ParkedItem } from '../core/parked.ts';
import { PARK_AFTER } from '../core/parked.ts';
import { isEvidenceStale } from '../core/stale-evidence.ts';
import { CURSOR_DOCUMENT } from './cursor-pass.ts';
import { loadFailures } from './failure-log.ts';
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
  readonly totals: CustodyDebts;
  /** Tasks that failed to heal again and again; sweeps leave them alone. */
  readonly parked: readonly (ParkedItem & { readonly task_id: string })[];
  /** Tasks whose runs settled while their rows were not terminal, and since when sweeps wait for them. */
  readonly deferred: readonly { readonly task_id: string; readonly since: string }[];
}

/** What an audit looks at: a ledger, or one as it stood in the past. */
export interface AuditedLedger {
  readonly custody: Ledger['custody'];
  readonly rows: { load(taskId: string): Promise<LoadedRow | null> };
  /** Questions that nobody has answered, of tasks that have not ended. */
  readonly openQuestions: () => Promise<readonly Question[]>;
  readonly state: Pick<StateStore, 'load'>;
}

/** A ledger, and the rows that go with it, as what an audit looks at. */
export function auditedLedger(ledger: Ledger, rows: AuditedLedger['rows'] = ledger.rows): AuditedLedger {
  return {
    custody: ledger.custody,
    rows,
    openQuestions: async () => (ledger.managesTasks ? ledger.questions.list({ open: true }) : []),
    state: ledger.state,
  };
}

/** Audits tasks for a person; nothing is stored. Without ids: the tasks that owe something, or that a run holds. */
export async function auditTasks(
  source: AuditedLedger,
  taskIds: readonly string[] | null,
): Promise<AuditReport> {
  const { custody } = source;
  const questions = byTask(await source.openQuestions());
  const ids = taskIds ?? (await concernedTaskIds(custody, questions.keys()));
  const readable = await custody.isReadable();
  const tasks: TaskAudit[] = [];
  for (const page of pagesOf(ids)) {
    const custodies = await custody.tasks(page);
    for (const id of page) {
      const known = custodies.get(id);
      if (known !== undefined)
        tasks.push({
          ...(await auditOne(source.rows, known, readable)),
          open_questions: questions.get(id) ?? [],
        });
    }
  }
  const totals = await custody.debts();
  const failures = await loadFailures(source.state);
  return {
    tasks,
    totals,
    parked: [...failures]
      .filter(([, item]) => item.failures >= PARK_AFTER)
      .map(([task_id, item]) => ({ task_id, ...item })),
    deferred: [...parseDeferred(await source.state.load(CURSOR_DOCUMENT))].map(([task_id, since]) => ({
      task_id,
      since,
    })),
  };
}

/** Ids of the questions that wait for an answer, by task. */
function byTask(questions: readonly Question[]): ReadonlyMap<string, readonly string[]> {
  const ids = new Map<string, string[]>();
  for (const { task_id, question_id } of questions)
    ids.set(task_id, [...(ids.get(task_id) ?? []), question_id]);
  return ids;
}

async function concernedTaskIds(
  custody: AuditedLedger['custody'],
  asking: Iterable<string>,
): Promise<readonly string[]> {
  const held = (await custody.openRuns()).filter((run) => run.role === 'attempt').map((run) => run.task_id);
  return [...new Set([...(await custody.owingTaskIds()), ...asking, ...held])].sort(compareCodePoints);
}

async function auditOne(
  rows: AuditedLedger['rows'],
  custody: TaskCustody,
  readable: boolean,
): Promise<Omit<TaskAudit, 'open_questions'>> {
  const result = audit(custody.task_id, 'audit', auditSource(custody, readable));
  const { row, error } = await loadReadable(rows, custody.task_id);
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
  rows: AuditedLedger['rows'],
  taskId: string,
): Promise<{ readonly row: TaskRow | null; readonly error: string | null }> {
  try {
    return { row: (await rows.load(taskId))?.row ?? null, error: null };
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

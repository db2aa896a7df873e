import type { Insertable } from 'kysely';
import type { UnplacedEvent } from '../../core/custody-fold.ts';
import { ManagedFold, managedKeys } from '../../core/managed/managed-fold.ts';
import { managedRow, splitManagedRow } from '../../core/managed/managed-row.ts';
import type { Lease, ManagedTask } from '../../core/managed/managed-task.ts';
import type { RowParts } from '../../core/task-row.ts';
import { isTerminalStatus, joinRow } from '../../core/task-row.ts';
import { writeRows } from './bulk-write.ts';
import { gather } from './gather.ts';
import { keptQuery, keyedQuery } from './kept-query.ts';
import { toLease, toLeaseRow, toManagedTaskRow, toSubmission, toSubmissionRow } from './managed-records.ts';
import { parseRecord } from './records.ts';
import { loadQuestions, saveQuestions } from './sql-questions.ts';
import type { Db, SqlContext, Tables } from './tables.ts';

/** Loads what events of managed tasks change; null if none of the events is one. */
export async function loadManagedFold(
  db: Db,
  context: SqlContext,
  events: readonly UnplacedEvent[],
): Promise<ManagedFold | null> {
  const keys = managedKeys(events);
  if (keys === null) return null;
  const fold = new ManagedFold();
  await gather(context.flags, [
    () => loadTasks(db, context, { fold, taskIds: keys.taskIds }),
    () => loadLeases(db, context, { fold, taskIds: keys.taskIds }),
    () => loadSubmissions(db, context, { fold, keys: keys.submissionKeys }),
    () => loadQuestions(db, context, { fold, questionIds: keys.questionIds }),
  ]);
  return fold;
}

const TASKS = keyedQuery((db, isKey) =>
  db
    .selectFrom('managed_task')
    .select(['task_id', 'record'])
    .where('ledger', '=', '')
    .where(isKey('task_id')),
);

const LEASES = keyedQuery((db, isKey) =>
  db.selectFrom('lease').selectAll().where('ledger', '=', '').where(isKey('task_id')),
);

const SUBMISSIONS = keyedQuery((db, isKey) =>
  db.selectFrom('submission').selectAll().where('ledger', '=', '').where(isKey('idempotency_key')),
);

/** Loads the tasks that are not in the fold yet. */
export async function loadTasks(
  db: Db,
  context: SqlContext,
  { fold, taskIds }: { fold: ManagedFold; taskIds: readonly string[] },
): Promise<void> {
  const missing = taskIds.filter((id) => !fold.tasks.has(id));
  for (const row of await TASKS(db, context, missing))
    fold.tasks.set(row.task_id, parseRecord<ManagedTask>(row.record));
}

/** Loads leases of tasks. */
export async function loadLeases(
  db: Db,
  context: SqlContext,
  { fold, taskIds }: { fold: ManagedFold; taskIds: readonly string[] },
): Promise<void> {
  for (const row of await LEASES(db, context, taskIds)) fold.leases.set(row.task_id, toLease(row));
}

/** Loads what was submitted under keys. */
export async function loadSubmissions(
  db: Db,
  context: SqlContext,
  { fold, keys }: { fold: ManagedFold; keys: readonly string[] },
): Promise<void> {
  for (const row of await SUBMISSIONS(db, context, keys))
    fold.submissions.set(row.idempotency_key, toSubmission(row));
}

/** A task's row as it is stored. */
interface StoredRow extends RowParts {
  readonly task_id: string;
  readonly version: number;
  readonly is_terminal: number;
}

const ROWS = keyedQuery((db, isKey) =>
  db
    .selectFrom('task_row')
    .select(['task_id', 'version', 'frozen', 'added', 'live', 'is_terminal'])
    .where('ledger', '=', '')
    .where(isKey('task_id')),
);

/** Loads the rows of the managed tasks that events are about, by task. */
export async function loadManagedRows(
  db: Db,
  context: SqlContext,
  events: readonly UnplacedEvent[],
): Promise<ReadonlyMap<string, StoredRow>> {
  const rows = await ROWS(db, context, managedKeys(events)?.taskIds ?? []);
  return new Map(rows.map((row) => [row.task_id, row]));
}

/** Writes back what the fold changed, the rows of its tasks with it; `rows` are those of {@link loadManagedRows}. */
export async function saveManagedFold(
  db: Db,
  context: SqlContext,
  { fold, rows }: { readonly fold: ManagedFold; readonly rows: ReadonlyMap<string, StoredRow> },
): Promise<void> {
  const { ledger } = context;
  const tasks = [...fold.changed.tasks].flatMap((id) => fold.tasks.get(id) ?? []);
  const submissions = [...fold.changed.submissions].flatMap((key) => fold.submissions.get(key) ?? []);
  await gather(context.flags, [
    () =>
      writeRows(db, context, {
        table: 'managed_task',
        key: ['ledger', 'task_id'],
        rows: tasks.map((task) => toManagedTaskRow(ledger, task)),
      }),
    () => saveLinks(db, ledger, tasks),
    () => saveRows(db, context, { tasks, storedRows: rows }),
    () => saveLeases(db, context, fold),
    () =>
      writeRows(db, context, {
        table: 'submission',
        rows: submissions.map((item) => toSubmissionRow(ledger, item)),
      }),
    () => saveQuestions(db, context, fold),
  ]);
  fold.clearChanged();
}

/** Any lease: a kept query is built with one, and bound with the values of another in the same order. */
const SOME_LEASE: Lease = {
  task_id: '',
  run_id: '',
  fence: 0,
  holder: '',
  ttl_ms: 0,
  open: true,
  started_at_ms: 0,
  expires_at_ms: 0,
  heartbeat_at_ms: null,
  process: null,
};

const UPDATE_LEASE = keptQuery((db) => {
  const { ledger, task_id, ...values } = toLeaseRow('', SOME_LEASE);
  return db
    .updateTable('lease')
    .set(values)
    .where('ledger', '=', ledger)
    .where('task_id', '=', task_id)
    .returning('task_id');
});

/** Writes back the leases that changed, also those that only a sign of life changed. */
export async function saveLeases(db: Db, context: SqlContext, fold: ManagedFold): Promise<void> {
  const { ledger, flags } = context;
  const rows = [...fold.changed.leases]
    .flatMap((id) => fold.leases.get(id) ?? [])
    .map((lease) => toLeaseRow(ledger, lease));
  fold.changed.leases.clear();
  if (flags.keyList === 'any_array') {
    await writeRows(db, context, { table: 'lease', key: ['ledger', 'task_id'], rows });
    return;
  }
  // An insert that would turn into an update is one too many for the guard against replaced leases.
  for (const row of rows) {
    const { ledger: _ledger, task_id: id, ...values } = row;
    const updated = await UPDATE_LEASE(db, [...Object.values(values), ledger, id]);
    if (updated.length === 0) await writeRows(db, context, { table: 'lease', rows: [row] });
  }
}

async function saveLinks(db: Db, ledger: string, tasks: readonly ManagedTask[]): Promise<void> {
  const links = tasks.flatMap((task) =>
    task.parents.map((parent_id) => ({ ledger, parent_id, child_id: task.task_id })),
  );
  if (links.length === 0) return;
  await db
    .insertInto('task_link')
    .values(links)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

const UPDATE_ROW = keptQuery((db) =>
  db
    .updateTable('task_row')
    .set({
      version: 0,
      status: '',
      is_terminal: 0,
      needs_check: 1,
      frozen: '',
      added: '',
      live: '',
    })
    .where('ledger', '=', '')
    .where('task_id', '=', ''),
);

/** A managed task's row is written by its events only, in their transaction. */
async function saveRows(
  db: Db,
  context: SqlContext,
  {
    tasks,
    storedRows,
  }: { readonly tasks: readonly ManagedTask[]; readonly storedRows: ReadonlyMap<string, StoredRow> },
): Promise<void> {
  const rows = tasks.flatMap((task) => toRow(task, storedRows.get(task.task_id), context.ledger) ?? []);
  if (context.flags.keyList === 'any_array') {
    await writeRows(db, context, { table: 'task_row', key: ['ledger', 'task_id'], rows });
    return;
  }
  await writeRows(db, context, {
    table: 'task_row',
    rows: rows.filter((row) => !storedRows.has(row.task_id)),
  });
  for (const row of rows.filter(({ task_id }) => storedRows.has(task_id))) {
    const { ledger, task_id, ...values } = row;
    await UPDATE_ROW(db, [...Object.values(values), ledger, task_id]);
  }
}

/** The row of a task as it is written; null if it has none. Its fields stand in the order of {@link UPDATE_ROW}. */
function toRow(
  task: ManagedTask,
  stored: StoredRow | undefined,
  ledger: string,
): Insertable<Tables['task_row']> | null {
  const row = managedRow(stored === undefined ? null : joinRow(stored, task.task_id), task);
  if (row === null) return null;
  const { frozen, added, live } = splitManagedRow(row, stored?.is_terminal === 1 ? stored : null);
  return {
    ledger,
    task_id: task.task_id,
    version: (stored?.version ?? 0) + 1,
    status: row.status,
    is_terminal: Number(isTerminalStatus(row.status)),
    needs_check: 1,
    frozen,
    added,
    live,
  };
}

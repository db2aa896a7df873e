import { sql } from 'kysely';
import type { UnplacedEvent } from '../../core/custody-fold.ts';
import { ManagedFold, managedKeys } from '../../core/managed/managed-fold.ts';
import { managedRow, splitManagedRow } from '../../core/managed/managed-row.ts';
import type { Lease, ManagedTask } from '../../core/managed/managed-task.ts';
import { isTerminalStatus, joinRow } from '../../core/task-row.ts';
import { gather } from './gather.ts';
import { keptQuery, keyedQuery } from './kept-query.ts';
import { toLease, toLeaseRow, toManagedTaskRow, toSubmission, toSubmissionRow } from './managed-records.ts';
import { parseRecord } from './records.ts';
import { loadQuestions, saveQuestions } from './sql-questions.ts';
import type { Db, SqlContext } from './tables.ts';

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

/** Writes back what the fold changed, the rows of its tasks with it. */
export async function saveManagedFold(db: Db, context: SqlContext, fold: ManagedFold): Promise<void> {
  const tasks = [...fold.changed.tasks].flatMap((id) => fold.tasks.get(id) ?? []);
  const submissions = [...fold.changed.submissions].flatMap((key) => fold.submissions.get(key) ?? []);
  await gather(context.flags, [
    ...tasks.map((task) => () => saveTask(db, context, task)),
    () => saveLeases(db, context, fold),
    ...submissions.map(
      (item) => () => db.insertInto('submission').values(toSubmissionRow(context.ledger, item)).execute(),
    ),
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
export async function saveLeases(db: Db, { ledger }: SqlContext, fold: ManagedFold): Promise<void> {
  for (const id of fold.changed.leases) {
    const lease = fold.leases.get(id);
    if (lease === undefined) continue;
    const { ledger: _ledger, task_id: _taskId, ...values } = toLeaseRow(ledger, lease);
    const updated = await UPDATE_LEASE(db, [...Object.values(values), ledger, id]);
    if (updated.length === 0)
      await db
        .insertInto('lease')
        .values({ ledger, task_id: id, ...values })
        .execute();
  }
  fold.changed.leases.clear();
}

const PUT_TASK = keptQuery((db) =>
  db
    .insertInto('managed_task')
    .values({ ledger: '', task_id: '', status: '', priority: 0, created_seq: 0, record: '' })
    .onConflict((conflict) =>
      conflict.columns(['ledger', 'task_id']).doUpdateSet(({ ref }) => ({
        status: ref('excluded.status'),
        record: ref('excluded.record'),
      })),
    ),
);

async function saveTask(db: Db, context: SqlContext, task: ManagedTask): Promise<void> {
  const { ledger } = context;
  await gather(context.flags, [
    () => PUT_TASK(db, Object.values(toManagedTaskRow(ledger, task))),
    () => saveLinks(db, ledger, task),
    () => saveRow(db, ledger, task),
  ]);
}

async function saveLinks(db: Db, ledger: string, task: ManagedTask): Promise<void> {
  if (task.parents.length === 0) return;
  await db
    .insertInto('task_link')
    .values(task.parents.map((parent_id) => ({ ledger, parent_id, child_id: task.task_id })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

const ROW = keptQuery((db) =>
  db
    .selectFrom('task_row')
    .select(['version', 'frozen', 'added', 'live', 'is_terminal'])
    .where('ledger', '=', '')
    .where('task_id', '=', ''),
);

const UPDATE_ROW = keptQuery((db) =>
  db
    .updateTable('task_row')
    .set({
      version: 0,
      status: '',
      is_terminal: 0,
      needs_check: sql.lit(1),
      frozen: '',
      added: '',
      live: '',
    })
    .where('ledger', '=', '')
    .where('task_id', '=', ''),
);

/** A managed task's row is written by its events only, in their transaction. */
async function saveRow(db: Db, ledger: string, task: ManagedTask): Promise<void> {
  const [stored] = await ROW(db, [ledger, task.task_id]);
  const row = managedRow(stored === undefined ? null : joinRow(stored, task.task_id), task);
  if (row === null) return;
  const { status } = row;
  const isTerminal = Number(isTerminalStatus(status));
  const parts = splitManagedRow(row, stored?.is_terminal === 1 ? stored : null);
  if (stored !== undefined) {
    const { frozen, added, live } = parts;
    const values = [stored.version + 1, status, isTerminal, frozen, added, live];
    await UPDATE_ROW(db, [...values, ledger, task.task_id]);
    return;
  }
  await db
    .insertInto('task_row')
    .values({
      ledger,
      task_id: task.task_id,
      version: 1,
      status,
      is_terminal: isTerminal,
      needs_check: 1,
      ...parts,
    })
    .execute();
}

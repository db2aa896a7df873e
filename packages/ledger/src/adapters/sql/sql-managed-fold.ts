import type { UnplacedEvent } from '../../core/custody-fold.ts';
import { ManagedFold, managedKeys } from '../../core/managed/managed-fold.ts';
import { managedRow, splitManagedRow } from '../../core/managed/managed-row.ts';
import type { ManagedTask } from '../../core/managed/managed-task.ts';
import { isTerminalStatus, joinRow } from '../../core/task-row.ts';
import { isOneOf } from './key-list.ts';
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
  await loadTasks(db, context, { fold, taskIds: keys.taskIds });
  await loadLeases(db, context, { fold, taskIds: keys.taskIds });
  await loadSubmissions(db, context, { fold, keys: keys.submissionKeys });
  await loadQuestions(db, context, { fold, questionIds: keys.questionIds });
  return fold;
}

/** Loads the tasks that are not in the fold yet. */
export async function loadTasks(
  db: Db,
  context: SqlContext,
  { fold, taskIds }: { fold: ManagedFold; taskIds: readonly string[] },
): Promise<void> {
  const missing = taskIds.filter((id) => !fold.tasks.has(id));
  if (missing.length === 0) return;
  const rows = await db
    .selectFrom('managed_task')
    .select(['task_id', 'record'])
    .where('ledger', '=', context.ledger)
    .where(isOneOf('task_id', missing, context.flags))
    .execute();
  for (const row of rows) fold.tasks.set(row.task_id, parseRecord<ManagedTask>(row.record));
}

/** Loads leases of tasks. */
export async function loadLeases(
  db: Db,
  context: SqlContext,
  { fold, taskIds }: { fold: ManagedFold; taskIds: readonly string[] },
): Promise<void> {
  if (taskIds.length === 0) return;
  const rows = await db
    .selectFrom('lease')
    .selectAll()
    .where('ledger', '=', context.ledger)
    .where(isOneOf('task_id', taskIds, context.flags))
    .execute();
  for (const row of rows) fold.leases.set(row.task_id, toLease(row));
}

/** Loads what was submitted under keys. */
export async function loadSubmissions(
  db: Db,
  context: SqlContext,
  { fold, keys }: { fold: ManagedFold; keys: readonly string[] },
): Promise<void> {
  if (keys.length === 0) return;
  const rows = await db
    .selectFrom('submission')
    .selectAll()
    .where('ledger', '=', context.ledger)
    .where(isOneOf('idempotency_key', keys, context.flags))
    .execute();
  for (const row of rows) fold.submissions.set(row.idempotency_key, toSubmission(row));
}

/** Writes back what the fold changed, the rows of its tasks with it. */
export async function saveManagedFold(db: Db, context: SqlContext, fold: ManagedFold): Promise<void> {
  for (const id of fold.changed.tasks) {
    const task = fold.tasks.get(id);
    if (task !== undefined) await saveTask(db, context, task);
  }
  await saveLeases(db, context, fold);
  for (const key of fold.changed.submissions) {
    const item = fold.submissions.get(key);
    if (item !== undefined)
      await db.insertInto('submission').values(toSubmissionRow(context.ledger, item)).execute();
  }
  await saveQuestions(db, context, fold);
  fold.clearChanged();
}

/** Writes back the leases that changed, also those that only a sign of life changed. */
export async function saveLeases(db: Db, { ledger }: SqlContext, fold: ManagedFold): Promise<void> {
  for (const id of fold.changed.leases) {
    const lease = fold.leases.get(id);
    if (lease === undefined) continue;
    const { ledger: _ledger, task_id: _taskId, ...values } = toLeaseRow(ledger, lease);
    const { numUpdatedRows } = await db
      .updateTable('lease')
      .set(values)
      .where('ledger', '=', ledger)
      .where('task_id', '=', id)
      .executeTakeFirst();
    if (numUpdatedRows === 0n)
      await db
        .insertInto('lease')
        .values({ ledger, task_id: id, ...values })
        .execute();
  }
  fold.changed.leases.clear();
}

async function saveTask(db: Db, context: SqlContext, task: ManagedTask): Promise<void> {
  const { ledger } = context;
  const { status, record } = toManagedTaskRow(ledger, task);
  await db
    .insertInto('managed_task')
    .values(toManagedTaskRow(ledger, task))
    .onConflict((conflict) => conflict.columns(['ledger', 'task_id']).doUpdateSet({ status, record }))
    .execute();
  if (task.parents.length > 0) {
    await db
      .insertInto('task_link')
      .values(task.parents.map((parent_id) => ({ ledger, parent_id, child_id: task.task_id })))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  await saveRow(db, ledger, task);
}

/** A managed task's row is written by its events only, in their transaction. */
async function saveRow(db: Db, ledger: string, task: ManagedTask): Promise<void> {
  const stored = await db
    .selectFrom('task_row')
    .select(['version', 'frozen', 'added', 'live', 'is_terminal'])
    .where('ledger', '=', ledger)
    .where('task_id', '=', task.task_id)
    .executeTakeFirst();
  const row = managedRow(stored === undefined ? null : joinRow(stored, task.task_id), task);
  if (row === null) return;
  const parts = splitManagedRow(row, stored?.is_terminal === 1 ? stored : null);
  const values = {
    status: row.status,
    is_terminal: Number(isTerminalStatus(row.status)),
    needs_check: 1,
    ...parts,
  };
  if (stored === undefined) {
    await db
      .insertInto('task_row')
      .values({ ledger, task_id: task.task_id, version: 1, ...values })
      .execute();
  } else {
    await db
      .updateTable('task_row')
      .set({ version: stored.version + 1, ...values })
      .where('ledger', '=', ledger)
      .where('task_id', '=', task.task_id)
      .execute();
  }
}

import type { ManagedFold } from '../../core/managed/managed-fold.ts';
import { rowDocument } from '../../core/managed/row-document.ts';
import type { RawObject } from '../../core/raw-json.ts';
import type { RowParts } from '../../core/task-row.ts';
import { joinRow } from '../../core/task-row.ts';
import type { VerifyProblem } from '../../ports/ledger-store.ts';
import { toLeaseGrant, toManagedTaskRow, toQuestionRow, toSubmissionRow } from './managed-records.ts';
import { compareRows } from './sql-rebuild.ts';
import type { Db, SqlContext } from './tables.ts';

/**
 * Compares the tables of managed tasks with a replay, and their rows with what the replay gives. Signs of life
 * are not in the log, so when a lease runs out is not compared.
 */
export async function compareManagedTables(
  db: Db,
  { ledger }: SqlContext,
  fold: ManagedFold,
): Promise<readonly VerifyProblem[]> {
  const problems: VerifyProblem[] = [];
  const tasks = await db.selectFrom('managed_task').selectAll().where('ledger', '=', ledger).execute();
  compareRows('managed_task', tasks, {
    problems,
    keyOf: (row) => row.task_id,
    expected: new Map([...fold.tasks].map(([id, task]) => [id, toManagedTaskRow(ledger, task)])),
  });
  const links = await db.selectFrom('task_link').selectAll().where('ledger', '=', ledger).execute();
  const told = [...fold.tasks.values()].flatMap((task) =>
    task.parents.map((parent_id) => ({ ledger, parent_id, child_id: task.task_id })),
  );
  compareRows('task_link', links, {
    problems,
    keyOf: (row) => `${row.parent_id}\u0000${row.child_id}`,
    expected: new Map(told.map((link) => [`${link.parent_id}\u0000${link.child_id}`, link])),
  });
  const leases = await db.selectFrom('lease').selectAll().where('ledger', '=', ledger).execute();
  compareRows('lease', leases, {
    problems,
    keyOf: (row) => row.task_id,
    expected: new Map([...fold.leases].map(([id, lease]) => [id, toLeaseGrant(ledger, lease)])),
  });
  const submissions = await db.selectFrom('submission').selectAll().where('ledger', '=', ledger).execute();
  compareRows('submission', submissions, {
    problems,
    keyOf: (row) => row.idempotency_key,
    expected: new Map([...fold.submissions].map(([key, item]) => [key, toSubmissionRow(ledger, item)])),
  });
  const questions = await db.selectFrom('question').selectAll().where('ledger', '=', ledger).execute();
  compareRows('question', questions, {
    problems,
    keyOf: (row) => row.question_id,
    expected: new Map([...fold.questions].map(([id, item]) => [id, toQuestionRow(ledger, item)])),
  });
  return [...problems, ...(await compareTaskRows(db, ledger, fold))];
}

/** The row's fields; null for one that was made unreadable, which then has none of them. */
function rawOf(stored: RowParts, taskId: string): RawObject | null {
  try {
    return joinRow(stored, taskId).raw;
  } catch {
    return null;
  }
}

/** The time of the newest write is anybody's who put a field of his own on the row. */
const NOT_COMPARED: ReadonlySet<string> = new Set(['updated_at']);

async function compareTaskRows(db: Db, ledger: string, fold: ManagedFold): Promise<readonly VerifyProblem[]> {
  const problems: VerifyProblem[] = [];
  for (const task of fold.tasks.values()) {
    const stored = await db
      .selectFrom('task_row')
      .select(['frozen', 'added', 'live'])
      .where('ledger', '=', ledger)
      .where('task_id', '=', task.task_id)
      .executeTakeFirst();
    const raw = stored === undefined ? null : rawOf(stored, task.task_id);
    const wrong = Object.entries(rowDocument(task)).filter(
      ([key, value]) => !NOT_COMPARED.has(key) && raw?.get(key) !== JSON.stringify(value),
    );
    if (wrong.length === 0) continue;
    problems.push({
      code: 'table_mismatch',
      message: `task_row ${task.task_id} differs from a replay of the log in ${wrong.map(([key]) => key).join(', ')}`,
      task_id: task.task_id,
    });
  }
  return problems;
}

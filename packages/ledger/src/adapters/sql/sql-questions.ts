import { sql } from 'kysely';
import type { ManagedFold } from '../../core/managed/managed-fold.ts';
import type { Question } from '../../core/questions/question.ts';
import type { QuestionFilter } from '../../ports/managed-store.ts';
import { isOneOf } from './key-list.ts';
import { toQuestionRow } from './managed-records.ts';
import { parseRecord } from './records.ts';
import type { Db, SqlContext } from './tables.ts';

/** Loads questions by their ids. */
export async function loadQuestions(
  db: Db,
  context: SqlContext,
  { fold, questionIds }: { readonly fold: ManagedFold; readonly questionIds: readonly string[] },
): Promise<void> {
  const missing = questionIds.filter((id) => !fold.questions.has(id));
  if (missing.length === 0) return;
  const rows = await db
    .selectFrom('question')
    .select('record')
    .where('ledger', '=', context.ledger)
    .where(isOneOf('question_id', missing, context.flags))
    .execute();
  for (const row of rows) fold.putQuestion(parseRecord<Question>(row.record));
}

/** Loads what is not answered or not delivered, of those tasks in the fold that ever asked. */
export async function loadOwedQuestions(
  db: Db,
  context: SqlContext,
  { fold, taskIds }: { readonly fold: ManagedFold; readonly taskIds: readonly string[] },
): Promise<void> {
  const asked = taskIds.filter((id) => (fold.tasks.get(id)?.newest_question_id ?? null) !== null);
  if (asked.length === 0) return;
  const rows = await db
    .selectFrom('question')
    .select('record')
    .where('ledger', '=', context.ledger)
    .where('is_owed', '=', sql.lit(1))
    .where(isOneOf('task_id', asked, context.flags))
    .execute();
  for (const row of rows) fold.putQuestion(parseRecord<Question>(row.record));
}

/** Writes back the questions that the fold changed. */
export async function saveQuestions(db: Db, { ledger }: SqlContext, fold: ManagedFold): Promise<void> {
  for (const id of fold.changed.questions) {
    const question = fold.questions.get(id);
    if (question === undefined) continue;
    const row = toQuestionRow(ledger, question);
    const { is_open, is_owed, record } = row;
    await db
      .insertInto('question')
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(['ledger', 'question_id']).doUpdateSet({ is_open, is_owed, record }),
      )
      .execute();
  }
}

/** Questions in the order in which they were raised. */
export async function listQuestions(
  db: Db,
  { ledger }: SqlContext,
  { taskId, open }: QuestionFilter,
): Promise<readonly Question[]> {
  let query = db.selectFrom('question').select('record').where('ledger', '=', ledger).orderBy('asked_seq');
  if (taskId !== undefined) query = query.where('task_id', '=', taskId);
  if (open === true)
    query = query
      .where('is_open', '=', sql.lit(1))
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('managed_task')
              .select('managed_task.task_id')
              .where('managed_task.ledger', '=', ledger)
              .whereRef('managed_task.task_id', '=', 'question.task_id')
              .where('managed_task.status', 'in', ['completed', 'failed', 'cancelled']),
          ),
        ),
      );
  return (await query.execute()).map((row) => parseRecord<Question>(row.record));
}

import { sql } from 'kysely';
import { compareCodePoints } from '../../core/json.ts';
import type { FailoverNodes } from '../../core/managed/epoch-record.ts';
import { EPOCH_DOCUMENT, epochDocument } from '../../core/managed/epoch-record.ts';
import { restampEvents } from '../../core/managed/restamp.ts';
import type { NewId } from '../../ports/clock.ts';
import type { CommitSignal } from '../../ports/commit-signal.ts';
import type { ManagedStore, RaisedEpoch } from '../../ports/managed-store.ts';
import { decideTogether } from './decide-together.ts';
import { DecisionQueue } from './decision-queue.ts';
import { toLease } from './managed-records.ts';
import { appendInTransaction } from './sql-event-store.ts';
import { loadScope } from './sql-managed-scope.ts';
import { listQuestions } from './sql-questions.ts';
import { saveDocument } from './sql-small-stores.ts';
import type { SqlContext } from './tables.ts';
import type { WritableContext, WriteTurn } from './write-transaction.ts';
import { inWriteTransaction } from './write-transaction.ts';

/** What managed tasks in tables rest on. */
export interface SqlManagedOptions {
  readonly newId: NewId;
  readonly commits: CommitSignal;
}

/** Managed tasks in tables; a decision is made and written under the write lock. */
export function sqlManagedStore(context: WritableContext, options: SqlManagedOptions): ManagedStore {
  const { reader, ledger, session } = context;
  const { newId } = options;

  const queue = new DecisionQueue(context, (turn, pending) =>
    decideTogether(turn, context, { pending, newId }),
  );

  return {
    newId,
    commits: options.commits,
    decide: (request, decision) => queue.decide(request, decision),
    read: (request) =>
      reader
        .transaction()
        .execute(async (db) => loadScope(db, context, { request, now: await session.now(db) })),
    questions: (filter) => listQuestions(reader, context, filter),
    runningTaskIds: async () => {
      const rows = await reader
        .selectFrom('managed_task')
        .select('task_id')
        .where('ledger', '=', ledger)
        .where('status', '=', sql.lit('running'))
        .execute();
      return rows.map((row) => row.task_id).sort(compareCodePoints);
    },
    raiseEpoch: async (reason, failover) => {
      const raised = await inWriteTransaction(context, (turn) =>
        raise(turn, context, { reason, newId, failover: failover ?? null }),
      );
      session.epoch = raised.epoch;
      return raised;
    },
  };
}

async function raise(
  turn: WriteTurn,
  context: SqlContext,
  {
    reason,
    newId,
    failover,
  }: { readonly reason: string; readonly newId: NewId; readonly failover: FailoverNodes | null },
): Promise<RaisedEpoch> {
  const { db } = turn;
  const epoch = turn.head.epoch + 1;
  await db.updateTable('ledger_head').set({ epoch }).where('ledger', '=', context.ledger).execute();
  const rows = await db
    .selectFrom('lease')
    .selectAll()
    .where('ledger', '=', context.ledger)
    .where('is_open', '=', sql.lit(1))
    .orderBy('task_id')
    .execute();
  const events = restampEvents(rows.map(toLease), { epoch, reason, failover });
  turn.head = { ...turn.head, epoch };
  await appendInTransaction(turn, context, { requests: [{ events }], newId });
  await saveDocument(db, context.ledger, {
    name: EPOCH_DOCUMENT,
    value: epochDocument(epoch, failover),
  });
  return { epoch, restamped: rows.map((row) => row.task_id) };
}

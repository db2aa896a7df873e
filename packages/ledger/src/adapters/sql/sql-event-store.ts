import type { AppendRequest } from '../../core/append-plan.ts';
import { planAppend } from '../../core/append-plan.ts';
import { toAppendResult } from '../../core/append-result.ts';
import type { ManagedFold } from '../../core/managed/managed-fold.ts';
import type { NewEvent, RecordedEvent, StoredEvent } from '../../core/recorded-event.ts';
import { InvalidEventError } from '../../errors.ts';
import type { NewId } from '../../ports/clock.ts';
import type { AppendOutcome, EventQuery, EventStore, Head } from '../../ports/event-store.ts';
import { writeRows } from './bulk-write.ts';
import { gather } from './gather.ts';
import { keptQuery, keyedQuery } from './kept-query.ts';
import { readHead } from './read-head.ts';
import { toEventRow, toStoredEvent } from './records.ts';
import { loadFold, saveFold } from './sql-fold.ts';
import { loadManagedFold, loadManagedRows, saveManagedFold } from './sql-managed-fold.ts';
import type { Db, SqlContext } from './tables.ts';
import type { WritableContext, WriteTurn } from './write-transaction.ts';
import { inWriteTransaction } from './write-transaction.ts';

/** Events of one page of a read. */
const PAGE = 1000;

/** The log in a table; each append is one transaction with everything that follows from it. */
export function sqlEventStore(context: WritableContext, newId: NewId): EventStore {
  return {
    append: (requests) =>
      inWriteTransaction(context, (turn) => appendInTransaction(turn, context, { requests, newId })),
    read: (query) => readEvents(context, query),
    head: () => readHead(context.reader, context.ledger),
  };
}

/** What is appended, and with which ids. */
interface AppendInput {
  readonly requests: readonly AppendRequest[];
  readonly newId: NewId;
  /** Managed tasks that the caller has loaded already. */
  readonly managed?: ManagedFold;
}

/** Appends inside a write transaction, and moves its head; the caller commits. */
export async function appendInTransaction(
  turn: WriteTurn,
  context: SqlContext,
  { requests, newId, managed }: AppendInput,
): Promise<readonly AppendOutcome[]> {
  const { db, head } = turn;
  const events = requests.flatMap((request) => request.events);
  const [known, fold, managedFold, managedRows] = await gather(context.flags, [
    () => knownEvents(db, context, events),
    () => loadFold(db, context, events),
    async () => managed ?? loadManagedFold(db, context, events),
    () => loadManagedRows(db, context, events),
  ]);
  const plan = planAppend(requests, {
    head,
    recordedAt: new Date(turn.now).toISOString(),
    known,
    fold,
    managed: managedFold,
    newId,
  });
  if (plan.stored.length > 0) {
    await gather(context.flags, [
      () => insertEvents(db, context, plan.stored),
      () => saveFold(db, context, fold),
      async () =>
        managedFold === null || saveManagedFold(db, context, { fold: managedFold, rows: managedRows }),
      () => moveHead(db, context, plan.stored),
    ]);
    turn.head = { ...head, ...placeOfLast(plan.stored) };
  }
  return plan.outcomes.map((outcome) =>
    outcome instanceof InvalidEventError ? outcome : toAppendResult(outcome.events),
  );
}

const EVENTS_BY_ID = keyedQuery((db, isKey) =>
  db.selectFrom('event').select(['id', 'text', 'hash']).where('ledger', '=', '').where(isKey('id')),
);

/** The events that the ledger holds under the ids that these give. */
export async function knownEvents(
  db: Db,
  context: SqlContext,
  events: readonly Pick<NewEvent, 'id'>[],
): Promise<Map<string, RecordedEvent>> {
  const ids = events.flatMap((event) => event.id ?? []);
  const rows = await EVENTS_BY_ID(db, context, ids);
  return new Map(rows.map((row) => [row.id, toStoredEvent(row).event]));
}

/** Inserts events as they are; used by the append and by an index that follows another log. */
export async function insertEvents(
  db: Db,
  context: SqlContext,
  stored: readonly StoredEvent[],
): Promise<void> {
  await writeRows(db, context, {
    table: 'event',
    rows: stored.map((item) => toEventRow(context.ledger, item)),
  });
}

const MOVE_HEAD = keptQuery((db) =>
  db.updateTable('ledger_head').set({ seq: 0, hash: '' }).where('ledger', '=', ''),
);

/** Puts the head behind the newest event. */
export async function moveHead(db: Db, context: SqlContext, stored: readonly StoredEvent[]): Promise<void> {
  const last = stored.at(-1)?.event;
  if (last !== undefined) await MOVE_HEAD(db, [last.seq, last.hash, context.ledger]);
}

function placeOfLast(stored: readonly StoredEvent[]): Partial<Pick<Head, 'seq' | 'hash'>> {
  const last = stored.at(-1)?.event;
  return last === undefined ? {} : { seq: last.seq, hash: last.hash };
}

/** Streams events in pages. */
export async function* readEvents(context: SqlContext, query: EventQuery): AsyncGenerator<StoredEvent, void> {
  let after = query.after ?? 0;
  let left = query.limit ?? Number.POSITIVE_INFINITY;
  while (left > 0) {
    const size = Math.min(PAGE, left);
    const rows = await readPage(context, { ...query, after }, size);
    for (const row of rows) yield toStoredEvent(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < size) return;
    after = last.seq;
    left -= rows.length;
  }
}

function readPage(context: SqlContext, query: EventQuery, size: number) {
  let page = context.reader
    .selectFrom('event')
    .select(['seq', 'text', 'hash'])
    .where('ledger', '=', context.ledger)
    .where('seq', '>', query.after ?? 0)
    .orderBy('seq')
    .limit(size);
  if (query.upTo !== undefined) page = page.where('seq', '<=', query.upTo);
  if (query.taskId !== undefined) page = page.where('task_id', '=', query.taskId);
  if (query.runId !== undefined) page = page.where('run_id', '=', query.runId);
  if (query.type !== undefined) page = page.where('type', '=', query.type);
  return page.execute();
}

import type { AppendRequest } from '../../core/append-plan.ts';
import { planAppend } from '../../core/append-plan.ts';
import { toAppendResult } from '../../core/append-result.ts';
import type { ManagedFold } from '../../core/managed/managed-fold.ts';
import type { NewEvent, RecordedEvent, StoredEvent } from '../../core/recorded-event.ts';
import { InvalidEventError, StoreError } from '../../errors.ts';
import type { Clock, NewId } from '../../ports/clock.ts';
import type { AppendOutcome, EventQuery, EventStore, Head } from '../../ports/event-store.ts';
import { writeRows } from './bulk-write.ts';
import { isOneOf } from './key-list.ts';
import { toEventRow, toStoredEvent } from './records.ts';
import { loadFold, saveFold } from './sql-fold.ts';
import { loadManagedFold, saveManagedFold } from './sql-managed-fold.ts';
import type { Db, SqlContext } from './tables.ts';

/** Events of one page of a read. */
const PAGE = 1000;

/** The log in a table; each append is one transaction with everything that follows from it. */
export function sqlEventStore(context: SqlContext, clock: Clock, newId: NewId): EventStore {
  return {
    append: (requests) =>
      context.writer
        .transaction()
        .execute((db) => appendInTransaction(db, context, { requests, clock, newId })),
    read: (query) => readPages(context, query),
    head: () => readHead(context.reader, context.ledger),
  };
}

/** What is appended, and with which time and ids. */
interface AppendInput {
  readonly requests: readonly AppendRequest[];
  readonly clock: Clock;
  readonly newId: NewId;
  /** Managed tasks that the caller has loaded already. */
  readonly managed?: ManagedFold;
}

/** Appends inside a transaction that has the write lock; the caller commits. */
export async function appendInTransaction(
  db: Db,
  context: SqlContext,
  { requests, clock, newId, managed }: AppendInput,
): Promise<readonly AppendOutcome[]> {
  const head = await readHead(db, context.ledger);
  const events = requests.flatMap((request) => request.events);
  const known = await knownEvents(db, context, events);
  const fold = await loadFold(db, context, events);
  const managedFold = managed ?? (await loadManagedFold(db, context, events));
  const plan = planAppend(requests, {
    head,
    recordedAt: new Date(clock.now()).toISOString(),
    known,
    fold,
    managed: managedFold,
    newId,
  });
  if (plan.stored.length > 0) {
    await insertEvents(db, context, plan.stored);
    await saveFold(db, context, fold);
    if (managedFold !== null) await saveManagedFold(db, context, managedFold);
    await moveHead(db, context, plan.stored);
  }
  return plan.outcomes.map((outcome) =>
    outcome instanceof InvalidEventError ? outcome : toAppendResult(outcome.events),
  );
}

/** Where the log stands. */
export async function readHead(db: Db, ledger: string): Promise<Head> {
  const row = await db
    .selectFrom('ledger_head')
    .select(['seq', 'hash', 'epoch', 'incarnation'])
    .where('ledger', '=', ledger)
    .executeTakeFirst();
  if (row === undefined) {
    throw new StoreError('store_corrupt', `the ledger ${ledger} has no head`, {
      hint: 'Run `custody verify`; restore from a backup if it fails.',
    });
  }
  return row;
}

/** The events that the ledger holds under the ids that these give. */
export async function knownEvents(
  db: Db,
  context: SqlContext,
  events: readonly Pick<NewEvent, 'id'>[],
): Promise<Map<string, RecordedEvent>> {
  const ids = events.flatMap((event) => event.id ?? []);
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('event')
    .select(['id', 'text', 'hash'])
    .where('ledger', '=', context.ledger)
    .where(isOneOf('id', ids, context.flags))
    .execute();
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

/** Puts the head behind the newest event. */
export async function moveHead(db: Db, context: SqlContext, stored: readonly StoredEvent[]): Promise<void> {
  const last = stored.at(-1)?.event;
  if (last === undefined) return;
  await db
    .updateTable('ledger_head')
    .set({ seq: last.seq, hash: last.hash })
    .where('ledger', '=', context.ledger)
    .execute();
}

async function* readPages(context: SqlContext, query: EventQuery): AsyncGenerator<StoredEvent, void> {
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

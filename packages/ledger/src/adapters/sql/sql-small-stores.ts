import { sql } from 'kysely';
import type { JsonObject } from '../../core/json.ts';
import type { LeaderStore, Leadership } from '../../ports/leader-store.ts';
import type { SettleScan, SettleScanResult, StateStore } from '../../ports/settle-scan.ts';
import { ofLedger } from './of-ledger.ts';
import { hashAt, readHead } from './read-head.ts';
import { parseRecord } from './records.ts';
import type { Db, SqlContext } from './tables.ts';
import type { WritableContext } from './write-transaction.ts';
import { inWriteTransaction } from './write-transaction.ts';

/** Settles looked at in one scan; more wait for the next, so that no pass holds the process for long. */
const SCAN_LIMIT = 10_000;

/** Finds settled runs by a partial index: the rest of the history costs nothing. */
export function sqlSettleScan(context: SqlContext): SettleScan {
  return {
    settledAfter: (position) => context.reader.transaction().execute((db) => scan(db, context, position)),
  };
}

async function scan(db: Db, context: SqlContext, position: JsonObject | null): Promise<SettleScanResult> {
  const { ledger } = context;
  const head = await readHead(db, ledger);
  const after = await validPosition(db, { ledger, incarnation: head.incarnation, position });
  if (after === head.seq && position !== null)
    return { outcome: 'scanned', task_ids: [], scanned: 0, next: position, moved: false };
  const rows = await db
    .selectFrom('event')
    .select(['seq', 'task_id'])
    .where(ofLedger(context))
    .where('seq', '>', after)
    .where('type', 'in', [sql.lit('run.settled'), sql.lit('run.closed_absent')])
    .orderBy('seq')
    .limit(SCAN_LIMIT)
    .execute();
  const upTo = rows.length < SCAN_LIMIT ? head.seq : (rows.at(-1)?.seq ?? head.seq);
  return {
    outcome: 'scanned',
    task_ids: [...new Set(rows.flatMap((row) => row.task_id ?? []))],
    scanned: upTo - after,
    next: { seq: upTo, hash: await hashAt(db, ledger, upTo), incarnation: head.incarnation },
    moved: upTo !== after,
  };
}

/** A position counts only if its event is still there: a restored backup starts again at the beginning. */
async function validPosition(
  db: Db,
  {
    ledger,
    incarnation,
    position,
  }: { readonly ledger: string; readonly incarnation: string; readonly position: JsonObject | null },
): Promise<number> {
  const seq = position?.['seq'];
  if (typeof seq !== 'number' || seq <= 0 || position?.['incarnation'] !== incarnation) return 0;
  const hash = await hashAt(db, ledger, seq);
  return hash !== null && hash === position['hash'] ? seq : 0;
}

/** Documents in a table. */
export function sqlStateStore(context: WritableContext): StateStore {
  const { reader, ledger } = context;
  return {
    load: async (name) => {
      const row = await reader
        .selectFrom('state_document')
        .select('document')
        .where('ledger', '=', ledger)
        .where('name', '=', name)
        .executeTakeFirst();
      return row === undefined ? null : parseRecord<JsonObject>(row.document);
    },
    save: async (name, value) => {
      await inWriteTransaction(context, ({ db }) => saveDocument(db, ledger, { name, value }));
    },
  };
}

/** Writes a document inside of a transaction that holds the write lock. */
export async function saveDocument(
  db: Db,
  ledger: string,
  { name, value }: { readonly name: string; readonly value: JsonObject },
): Promise<void> {
  const document = JSON.stringify(value);
  await db
    .insertInto('state_document')
    .values({ ledger, name, document })
    .onConflict((conflict) => conflict.columns(['ledger', 'name']).doUpdateSet({ document }))
    .execute();
}

/** Leadership as a lease row that is never deleted. */
export function sqlLeaderStore(context: WritableContext): LeaderStore {
  const { ledger } = context;
  return {
    tryLead: (name, holder, ttlMs) =>
      inWriteTransaction(context, ({ db, now }) => lead(db, { ledger, name, holder, ttlMs, now })),
    resign: async (name, holder) => {
      await inWriteTransaction(context, ({ db }) =>
        db
          .updateTable('leader')
          .set({ holder: '', expires_at_ms: 0 })
          .where('ledger', '=', ledger)
          .where('name', '=', name)
          .where('holder', '=', holder)
          .execute(),
      );
    },
  };
}

async function lead(
  db: Db,
  {
    ledger,
    name,
    holder,
    ttlMs,
    now,
  }: { ledger: string; name: string; holder: string; ttlMs: number; now: number },
): Promise<Leadership> {
  const lease = await db
    .selectFrom('leader')
    .select(['holder', 'fence', 'expires_at_ms'])
    .where('ledger', '=', ledger)
    .where('name', '=', name)
    .executeTakeFirst();
  const isHeld = lease !== undefined && lease.holder !== '' && lease.expires_at_ms > now;
  if (isHeld && lease.holder !== holder) {
    if (lease.expires_at_ms > now + ttlMs)
      return shorten(db, { ledger, name, holder: lease.holder, until: now + ttlMs });
    return { outcome: 'held', holder: lease.holder, expires_at: new Date(lease.expires_at_ms).toISOString() };
  }
  const fence = (lease?.fence ?? 0) + (isHeld ? 0 : 1);
  const values = { holder, fence, expires_at_ms: now + ttlMs };
  await db
    .insertInto('leader')
    .values({ ledger, name, ...values })
    .onConflict((conflict) => conflict.columns(['ledger', 'name']).doUpdateSet(values))
    .execute();
  return { outcome: 'leading', fence, expires_at: new Date(values.expires_at_ms).toISOString() };
}

/**
 * A lease that runs on for longer than any is given was taken before the clock was set back. Its holder gets one more
 * term to renew it; without an end in sight a dead one would lead for as long as the clock was ahead.
 */
async function shorten(
  db: Db,
  { ledger, name, holder, until }: { ledger: string; name: string; holder: string; until: number },
): Promise<Leadership> {
  await db
    .updateTable('leader')
    .set({ expires_at_ms: until })
    .where('ledger', '=', ledger)
    .where('name', '=', name)
    .execute();
  return { outcome: 'held', holder, expires_at: new Date(until).toISOString() };
}

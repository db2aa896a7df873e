import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type { LedgersOfDatabase } from './0001-ledger.ts';
import { layoutFor } from './0001-ledger.ts';

/**
 * The table of served records. Bodies are bytes, not text: a text column of PostgreSQL takes no NUL, and no column
 * may change what was put.
 */
export async function createRecordTable(db: Kysely<unknown>, ledgers: LedgersOfDatabase): Promise<void> {
  const { text, bytes, end } = layoutFor(ledgers);
  await sql`create table served_record (
    ledger ${text} not null, record_id ${text} not null, body ${bytes} not null, sha256 ${text} not null,
    primary key (ledger, record_id)) ${end}`.execute(db);
}

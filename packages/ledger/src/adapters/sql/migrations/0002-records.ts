import type { Kysely } from 'kysely';
import { sql } from 'kysely';

/**
 * The table of served records. Bodies are bytes, not text: a text column of PostgreSQL takes no NUL, and no column
 * may change what was put.
 */
export async function createRecordTable(db: Kysely<unknown>, bytes: 'blob' | 'bytea'): Promise<void> {
  await sql`create table served_record (
    ledger text not null, record_id text not null, body ${sql.raw(bytes)} not null, sha256 text not null,
    primary key (ledger, record_id))`.execute(db);
}

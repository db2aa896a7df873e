import { createHash } from 'node:crypto';
import type { VerifyProblem } from '../../ports/ledger-store.ts';
import type { RecordStore } from '../../ports/record-store.ts';
import type { Db, SqlContext } from './tables.ts';
import type { WritableContext } from './write-transaction.ts';
import { inWriteTransaction } from './write-transaction.ts';

/** Records read at once when they are checked; one may have a MiB. */
const PAGE = 20;

/** Records in a table; the epoch is checked in the transaction of each write. */
export function sqlRecordStore(context: WritableContext): RecordStore {
  const { reader, ledger } = context;
  return {
    put: (id, text) =>
      inWriteTransaction(context, async ({ db }) => {
        const body = Buffer.from(text, 'utf8');
        const values = { body, sha256: sha256Of(body) };
        // Not an upsert: to a trigger that looks like an insert in place of a row.
        const { numUpdatedRows } = await db
          .updateTable('served_record')
          .set(values)
          .where('ledger', '=', ledger)
          .where('record_id', '=', id)
          .executeTakeFirstOrThrow();
        if (numUpdatedRows === 0n)
          await db
            .insertInto('served_record')
            .values({ ledger, record_id: id, ...values })
            .execute();
      }),
    get: async (id) => {
      const row = await reader
        .selectFrom('served_record')
        .select('body')
        .where('ledger', '=', ledger)
        .where('record_id', '=', id)
        .executeTakeFirst();
      return row === undefined ? null : Buffer.from(row.body).toString('utf8');
    },
  };
}

/** Records whose bytes are not those that were put. */
export async function damagedRecords(db: Db, { ledger }: SqlContext): Promise<readonly VerifyProblem[]> {
  const problems: VerifyProblem[] = [];
  let after = '';
  for (;;) {
    const rows = await db
      .selectFrom('served_record')
      .select(['record_id', 'body', 'sha256'])
      .where('ledger', '=', ledger)
      .where('record_id', '>', after)
      .orderBy('record_id')
      .limit(PAGE)
      .execute();
    for (const row of rows)
      if (sha256Of(row.body) !== row.sha256)
        problems.push({
          code: 'record_damaged',
          message: `the bytes of record ${row.record_id} are not those that were put`,
        });
    const last = rows.at(-1);
    if (last === undefined) return problems;
    after = last.record_id;
  }
}

function sha256Of(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

import { plainSession } from './postgres.ts';
import type { TamperedStore } from './tampering.ts';

/** Where a ledger is, by its URL: the schema, its name, and the partitions that hold it. */
export function placeOfLedger(url: string): {
  readonly schema: string;
  readonly ledger: string;
  readonly placeOf: (table: string) => string;
} {
  const { schema = '', ledger = 'main' } = Object.fromEntries(new URL(url).searchParams);
  return {
    schema,
    ledger,
    placeOf: (table) => (table === 'ledger_head' ? `${schema}.ledger_head` : `${schema}.${table}__${ledger}`),
  };
}

/**
 * Hands a ledger to a superuser, who has the guards switched off for his session: all that he does is one transaction.
 * Answers what he answers.
 */
export async function withoutPostgresGuards<T>(
  url: string,
  attack: (store: TamperedStore) => Promise<T>,
): Promise<T> {
  const session = await plainSession();
  const { ledger, placeOf } = placeOfLedger(url);
  await session.query('begin; set local session_replication_role = replica');
  try {
    const answer = await attack({
      ledger,
      placeOf,
      textOf: (bytes) => `convert_from(decode('${bytes.toString('hex')}', 'hex'), 'UTF8')`,
      flipped: inAscii,
      run: (statement) => session.query(statement),
      rows: async (query) => (await session.query<Record<string, unknown>>(query)).rows,
    });
    await session.query('commit');
    return answer;
  } catch (error) {
    await session.query('rollback');
    throw error;
  }
}

/** A text of PostgreSQL is UTF-8 without NUL; a byte of ASCII becomes another one. */
function inAscii(byte: number, mask: number): number {
  const flipped = byte ^ (mask & 0x7f);
  return flipped === 0 || flipped === byte ? byte ^ 1 : flipped;
}

import type { RawBuilder, SqlBool } from 'kysely';
import { sql } from 'kysely';
import type { SqlContext } from './tables.ts';

/**
 * Keeps a scan inside the ledger. Alone in its database a ledger needs no such condition, and without one an index
 * that does not hold the ledger's name can answer by itself.
 */
export function ofLedger({ ledger, flags }: Pick<SqlContext, 'ledger' | 'flags'>): RawBuilder<SqlBool> {
  return flags.ledgers === 'one' ? sql<SqlBool>`1 = 1` : sql<SqlBool>`${sql.ref('ledger')} = ${ledger}`;
}

import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { guardPartitions } from './postgres-guards.ts';

/** Tables that have a partition for each ledger; the heads of all ledgers stand in one small table. */
export const PARTITIONED = [
  'event',
  'run',
  'invocation',
  'run_evidence',
  'task_facts',
  'containment',
  'task_row',
  'state_document',
  'leader',
  'managed_task',
  'task_link',
  'lease',
  'submission',
  'question',
  'served_record',
] as const;

/** Names of PostgreSQL are cut at 63 bytes; the longest table leaves this much after two underscores. */
const MAX_SUFFIX = 40;

/** The partition of a table that holds a ledger. Ids of ledgers are longer than names may be, and case counts in them. */
export function partitionName(table: string, ledger: string): string {
  const plain = /^[a-z0-9_]+$/.test(ledger) && ledger.length <= MAX_SUFFIX;
  if (plain) return `${table}__${ledger}`;
  const readable = ledger
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .slice(0, MAX_SUFFIX - 17);
  return `${table}__${readable}_${createHash('sha256').update(ledger).digest('hex').slice(0, 16)}`;
}

/**
 * Where a handle finds its tables: in the partitions of its ledger, so that no statement ever sees another ledger,
 * and its plan does not depend on how many there are.
 */
export function placesOf(schema: string, ledger: string): (table: string) => string | null {
  const places = new Map<string, string>([['ledger_head', `"${schema}"."ledger_head"`]]);
  for (const table of PARTITIONED) places.set(table, `"${schema}"."${partitionName(table, ledger)}"`);
  return (table) => places.get(table) ?? null;
}

/** Makes the partitions of a new ledger, in the schema that the transaction's search path names. */
export async function createPartitions(db: Kysely<unknown>, ledger: string): Promise<void> {
  for (const table of PARTITIONED) {
    await sql`create table ${sql.table(partitionName(table, ledger))} partition of ${sql.table(table)}
      for values in (${sql.lit(ledger)})`.execute(db);
  }
  await guardPartitions(db, (table) => partitionName(table, ledger));
}

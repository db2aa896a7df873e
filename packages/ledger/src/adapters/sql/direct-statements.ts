import type { DialectAdapter } from 'kysely';
import type { Db } from './tables.ts';

/** Runs a statement at once, for a database that lives in this process. */
export type RunDirectly = (text: string, values: readonly unknown[]) => unknown[];

/** By the adapter, which is a database's own and shared by its transactions. */
const direct = new WeakMap<DialectAdapter, RunDirectly>();

/** Tells how statements of the adapter's database can be run at once. */
export function offerDirect(adapter: DialectAdapter, run: RunDirectly): void {
  direct.set(adapter, run);
}

/**
 * The short way to a database inside a transaction, which has the connection for itself; null where there is none, or
 * where others may be using the connection. The way through the query builder takes longer than SQLite does to answer.
 */
export function directWay(db: Db): RunDirectly | null {
  return db.isTransaction ? (direct.get(db.getExecutor().adapter) ?? null) : null;
}

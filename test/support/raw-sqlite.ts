import { createRequire } from 'node:module';

/** A plain session on a database file, with none of the ledger's code in between. */
export interface RawSqlite {
  exec(sql: string): unknown;
  prepare(sql: string): {
    all(...parameters: readonly unknown[]): unknown[];
    get(...parameters: readonly unknown[]): unknown;
  };
  pragma(text: string): unknown;
  close(): unknown;
}

type Driver = new (path: string) => RawSqlite;

/** Opens a file with the very driver that the ledger uses, found from the ledger's own folder. */
export function openRawSqlite(path: string): RawSqlite {
  const requireFromLedger = createRequire(new URL('../../packages/ledger/package.json', import.meta.url));
  const Database = requireFromLedger('better-sqlite3') as Driver;
  return new Database(path);
}

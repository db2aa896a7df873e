import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreError } from '../../errors.ts';
import { copyDatabase } from './database-copy.ts';
import { toLedgerError } from './sqlite-error.ts';

/** One row as the database has it. */
type ForeignRow = Readonly<Record<string, unknown>>;

/** A SQLite database of another program, of one moment. It is never changed. */
export interface ForeignDatabase {
  readonly tables: ReadonlySet<string>;
  /** Rows of a table by a column, smallest first, without holding them in memory. */
  readonly rows: (table: string, orderBy: string) => IterableIterator<ForeignRow>;
  readonly count: (table: string) => number;
  readonly close: () => void;
}

/**
 * Opens a database of another program for reading. One that somebody has open is read in place; any other from a
 * copy, because reading it would leave files beside it.
 *
 * @throws StoreError if it is no SQLite database, damaged, or can't be read.
 */
export function openForeign(path: string): ForeignDatabase {
  const copy = existsSync(`${path}-shm`) ? null : copied(path);
  try {
    const handle = new Database(copy?.path ?? path, { readonly: true, fileMustExist: true });
    // One transaction for all reads: what others commit meanwhile is not seen.
    handle.exec('begin');
    const tables = handle.prepare(`select name from sqlite_master where type = 'table'`).all() as {
      name: string;
    }[];
    return {
      tables: new Set(tables.map(({ name }) => name)),
      rows: (table, orderBy) =>
        handle
          .prepare(`select * from ${quoted(table)} order by ${quoted(orderBy)}`)
          .iterate() as IterableIterator<ForeignRow>,
      count: (table) =>
        Number(
          handle
            .prepare(`select count(*) from ${quoted(table)}`)
            .pluck()
            .get(),
        ),
      close: () => {
        handle.close();
        copy?.remove();
      },
    };
  } catch (error) {
    copy?.remove();
    throw toLedgerError(error, path);
  }
}

function copied(path: string): ReturnType<typeof copyDatabase> {
  try {
    return copyDatabase(path);
  } catch (cause) {
    throw new StoreError('store_unreadable', `${path} can't be read`, {
      hint: 'Check its permissions, and the room in the temporary folder.',
      facts: { path },
      cause,
    });
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

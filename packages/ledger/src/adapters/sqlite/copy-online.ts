import { closeSync, fsyncSync, openSync } from 'node:fs';
import Database from 'better-sqlite3';
import { toLedgerError } from './sqlite-error.ts';

/** How far a copy is, in pages of the database. */
export interface CopyProgress {
  readonly pages_done: number;
  readonly pages_total: number;
}

/** Pages of one step. Between two steps other work of this process gets its turn. */
const STEP = 2000;

/** A copy that other writers made start again so often takes the rest in one step, which nobody can disturb. */
const PATIENCE = 3;

/**
 * Copies a database that others may be writing, as of one moment, to a path that does not exist. The copy needs no
 * files beside it.
 *
 * @throws StoreError if one of both can't be read or written; what was begun is left at the path.
 */
export async function copyOnline(
  from: string,
  to: string,
  onProgress: (progress: CopyProgress) => void,
): Promise<void> {
  const source = openReadable(from);
  try {
    let least = Number.POSITIVE_INFINITY;
    let restarts = 0;
    await source.backup(to, {
      progress: ({ totalPages, remainingPages }) => {
        if (remainingPages > least) restarts += 1;
        least = remainingPages;
        onProgress({ pages_done: totalPages - remainingPages, pages_total: totalPages });
        return restarts >= PATIENCE ? totalPages + STEP : STEP;
      },
    });
  } catch (error) {
    throw toLedgerError(error, from);
  } finally {
    source.close();
  }
  makeWhole(to);
}

function openReadable(path: string): Database.Database {
  try {
    return new Database(path, { readonly: true, fileMustExist: true });
  } catch (error) {
    throw toLedgerError(error, path);
  }
}

/** The copy still says that it has a write-ahead log; without one it can be read on media that can't be written. */
function makeWhole(path: string): void {
  try {
    const copy = new Database(path);
    copy.pragma('journal_mode = DELETE');
    copy.close();
    const file = openSync(path, 'r+');
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw toLedgerError(error, path);
  }
}

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { StoreError } from './errors.ts';
import type { ImportOptions, ImportResult } from './import/import-result.ts';
import type { Ledger } from './shell/ledger.ts';

/**
 * Imports events, and rows if there are any: from a data root, a ledger's export, a file of events, or a kanban board. Importing
 * the same source again appends nothing, because every event has an id that follows from its place, and writes no
 * row that was healed since.
 *
 * @throws StoreError `store_missing` if there is nothing at the path, `log_unreadable` if a part of a root's log can't be read.
 * @throws InvalidEventError if a line of an export was changed after it was exported; nothing of it was imported then.
 */
export async function importInto(
  ledger: Ledger,
  path: string,
  options: ImportOptions = {},
): Promise<ImportResult> {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) {
    throw new StoreError('store_missing', `there is nothing at ${path}`, {
      hint: 'Give a data root or a file of JSON Lines.',
      facts: { path },
    });
  }
  // Loaded when something is imported: they bring the drivers of other stores along.
  if (stat.isDirectory()) return (await import('./import/import-root.ts')).importRoot(ledger, path, options);
  if (isDatabase(path)) return importDatabase(ledger, path, options);
  return (await import('./import/import-file.ts')).importFile(ledger, path, options);
}

/** How every SQLite database begins. */
const MAGIC = 'SQLite format 3\u0000';

function isDatabase(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const begin = Buffer.alloc(MAGIC.length);
    readSync(file, begin, 0, begin.length, 0);
    return begin.toString('latin1') === MAGIC;
  } finally {
    closeSync(file);
  }
}

async function importDatabase(ledger: Ledger, path: string, options: ImportOptions): Promise<ImportResult> {
  const { openForeign } = await import('./adapters/sqlite/foreign-database.ts');
  const { BOARD_TABLES, importBoard } = await import('./import/kanban/import-board.ts');
  const database = openForeign(path);
  try {
    if (BOARD_TABLES.every((table) => database.tables.has(table)))
      return await importBoard(ledger, database, { place: path, options });
    throw new StoreError('not_a_store', `${path} is a SQLite database, and no kanban board`, {
      hint: 'A board has the tables tasks, task_runs and task_events. Of a custody store import its export: custody -s sqlite:PATH event export.',
      facts: { path },
    });
  } finally {
    database.close();
  }
}

import { statSync } from 'node:fs';
import { StoreError } from './errors.ts';
import type { ImportOptions, ImportResult } from './import/import-result.ts';
import type { Ledger } from './shell/ledger.ts';

/**
 * Imports events, and rows if there are any: from a data root, a ledger's export, or a file of events. Importing
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
  return (await import('./import/import-file.ts')).importFile(ledger, path, options);
}

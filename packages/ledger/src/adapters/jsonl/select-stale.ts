import { isJsonObject, textOf } from '../../core/json.ts';
import { isTerminalStatus, ROW_SCHEMA_VERSION } from '../../core/task-row.ts';
import type { IndexDb } from './index-tables.ts';
import type { JsonlContext } from './jsonl-context.ts';
import type { RootPaths } from './root-paths.ts';
import { loadChecks } from './row-checks.ts';
import type { FileStamp } from './row-files.ts';
import { decode, isSameStamp, listRowNames, readRowBytes, stampOf } from './row-files.ts';

/**
 * Ids of the terminal rows that may have stopped being true, by code point. Any program may rewrite any file, so
 * each is looked at; one that stands as it was confirmed, with no event since, is not read. What is no terminal row
 * of ours is passed over here and reported by `list` and `verify`.
 */
export async function selectStaleRows({ index, paths }: JsonlContext): Promise<readonly string[]> {
  const checks = await currentChecks(index);
  return listRowNames(paths).taskIds.filter(
    (taskId) => !isConfirmed(paths, taskId, checks.get(taskId)) && isTerminalRow(paths, taskId),
  );
}

/** None count while the log can't be read: every row that discloses something must say so then. */
async function currentChecks(index: JsonlContext['index']): Promise<ReadonlyMap<string, FileStamp>> {
  if ((await index.sync()) !== null) return new Map();
  return index.readUnsynced((tables) => loadChecks(tables.reader as unknown as IndexDb, tables.ledger));
}

function isConfirmed(paths: RootPaths, taskId: string, confirmed: FileStamp | undefined): boolean {
  if (confirmed === undefined) return false;
  const stamp = stampOf(paths, taskId);
  return stamp !== null && isSameStamp(stamp, confirmed);
}

function isTerminalRow(paths: RootPaths, taskId: string): boolean {
  try {
    const file = readRowBytes(paths, taskId);
    if (file === null) return false;
    // Only two fields are asked for, so the exact texts of the others need not be kept apart.
    const row: unknown = JSON.parse(decode(file.bytes, paths, taskId));
    if (!isJsonObject(row)) return false;
    const version = row['_schema_version'];
    return (
      isTerminalStatus(textOf(row, 'status')) && (version === undefined || version === ROW_SCHEMA_VERSION)
    );
  } catch {
    return false;
  }
}

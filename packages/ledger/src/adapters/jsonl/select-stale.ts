import { isJsonObject, textOf } from '../../core/json.ts';
import { isTerminalStatus, ROW_SCHEMA_VERSION } from '../../core/task-row.ts';
import type { RootPaths } from './root-paths.ts';
import { decode, listRowNames, readRowBytes } from './row-files.ts';

/**
 * Ids of the terminal rows that can be read, by code point. Any program may rewrite any file, so each is looked
 * at; what is not a terminal row of ours is passed over here and reported by `list` and `verify`.
 */
export function selectTerminalRows(paths: RootPaths): readonly string[] {
  return listRowNames(paths).taskIds.filter((taskId) => isTerminalRow(paths, taskId));
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

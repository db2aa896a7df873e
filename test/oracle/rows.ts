import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from './json.ts';
import { byCodePoint, isObject, own } from './json.ts';

const ROW_FILE = /^([A-Za-z0-9][A-Za-z0-9_.-]{0,127})\.json$/;
const SCHEMA_VERSION = 1;

/** The rows that can be read, by task id, which is the name of the file. The others are left alone. */
export function readRows(root: string): Map<string, JsonObject> {
  const directory = join(root, 'task_results');
  const rows = new Map<string, JsonObject>();
  if (!existsSync(directory)) return rows;
  for (const name of readdirSync(directory).sort(byCodePoint)) {
    const taskId = ROW_FILE.exec(name)?.[1];
    const path = join(directory, name);
    if (taskId === undefined || !statSync(path).isFile()) continue;
    const row = readRow(path);
    if (row !== null) rows.set(taskId, row);
  }
  return rows;
}

function readRow(path: string): JsonObject | null {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    const row: unknown = JSON.parse(decoder.decode(readFileSync(path)));
    if (!isObject(row)) return null;
    const version = own(row, '_schema_version');
    return version === undefined || version === SCHEMA_VERSION ? row : null;
  } catch {
    return null;
  }
}

/** The live fields of a row: those that a heal may write, as far as they are there. */
export function liveFields(row: JsonObject): JsonObject {
  const live = pick(row, [
    'delegated_runs_unreconciled',
    'delegate_terminal_reconciliation',
    'actual_substrate',
  ]);
  const envelope = own(row, 'subagent_envelope');
  const inner = isObject(envelope) ? pick(envelope, ['actual_substrate', 'execution_evidence']) : {};
  return Object.keys(inner).length === 0 ? live : { ...live, subagent_envelope: inner };
}

function pick(row: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(row, key)).map((key) => [key, row[key]]));
}

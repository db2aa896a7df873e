import { chainHash } from './event-hash.ts';
import { isJsonObject } from './json.ts';
import { parseRawObject } from './raw-json.ts';
import type { TaskRow } from './task-row.ts';
import { isTerminalStatus, splitRow } from './task-row.ts';

/** Digits of a field's digest: 128 bits, so that no other text can be found for it. */
const DIGITS = 32;

/** The frozen fields of a terminal row, each by the digest of its exact text. */
export interface FrozenDigest {
  readonly task_id: string;
  readonly fields: ReadonlyMap<string, string>;
}

/** What of a row can't change any more; null while its task has not ended. */
export function frozenDigest(row: TaskRow): FrozenDigest | null {
  if (!isTerminalStatus(row.status)) return null;
  const frozen = parseRawObject(splitRow(row).frozen);
  return { task_id: row.task_id, fields: new Map([...frozen].map(([key, text]) => [key, digest(text)])) };
}

/** One line of the list that a checkpoint covers. */
export function toFrozenLine({ task_id, fields }: FrozenDigest): string {
  return JSON.stringify({ task_id, fields: [...fields] });
}

/** The line as it was written; null if it is none. */
export function parseFrozenLine(line: string): FrozenDigest | null {
  try {
    const value: unknown = JSON.parse(line);
    if (!isJsonObject(value) || typeof value['task_id'] !== 'string' || !Array.isArray(value['fields']))
      return null;
    return { task_id: value['task_id'], fields: new Map(value['fields'] as [string, string][]) };
  } catch {
    return null;
  }
}

/** Names of the fields that were frozen and are not what they were, or are gone. What was added since is left out. */
export function changedFields(noted: FrozenDigest, row: TaskRow | null): readonly string[] {
  const now = row === null ? undefined : frozenDigest(row)?.fields;
  return [...noted.fields].filter(([key, text]) => now?.get(key) !== text).map(([key]) => key);
}

function digest(text: string): string {
  return chainHash('', text).slice(0, DIGITS);
}

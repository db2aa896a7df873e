import { z } from 'zod';
import { canonicalText } from '../canonical-text.ts';
import { chainHash } from '../event-hash.ts';
import { findLimitFault } from '../event-limits.ts';
import { ID_PATTERN } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { isJsonObject } from '../json.ts';

/** A result that a run handed in, as it is kept on disk until the ledger has it. */
export interface JournalRecord {
  readonly schema_version: 1;
  readonly task_id: string;
  readonly run_id: string;
  readonly result: JsonValue;
  readonly summary: string | null;
  readonly metadata: JsonObject | null;
  /** What the worker reported beside its result: changed files, tests, findings. Kept, never judged. */
  readonly structured: JsonObject | null;
  /** ISO 8601, UTC. */
  readonly created_at: string;
  /** Over everything but the time. */
  readonly content_hash: string;
}

const id = z.string().regex(ID_PATTERN);
const SHAPE = z.object({
  schema_version: z.literal(1),
  task_id: id,
  run_id: id,
  result: z.unknown(),
  summary: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  structured: z.record(z.string(), z.unknown()).nullable(),
  created_at: z.iso.datetime(),
  content_hash: z.string(),
});

const PENDING = '.terminal.pending.json';

/** The longest file name that is written out; longer ones are shortened by a hash. File systems stop at 255 bytes. */
const MAX_NAME = 200;

/** Where the result of a run waits: at most one a run. */
export function pendingName(taskId: string, runId: string): string {
  const name = `${taskId}.run-${runId}`;
  const stem =
    name.length + PENDING.length <= MAX_NAME
      ? name
      : `${name.slice(0, 100)}~${chainHash('', name).slice(0, 16)}`;
  return `${stem}${PENDING}`;
}

/** True for the name of a file that waits. */
export function isPendingName(name: string): boolean {
  return name.endsWith(PENDING) && !name.startsWith('.');
}

/** Where a file goes that the ledger would not take; `attempt` counts up while names are taken. */
export function conflictName(
  pending: string,
  conflict: { readonly at: string; readonly content: Uint8Array | string; readonly attempt: number },
): string {
  const stem = pending.slice(0, -PENDING.length);
  const time = conflict.at.replaceAll(/[-:.]/g, '');
  const counter = conflict.attempt === 0 ? '' : `-${conflict.attempt}`;
  return `${stem}.terminal.conflict-${time}-${chainHash('', conflict.content).slice(0, 8)}${counter}.json`;
}

/** The record of a result. */
export function journalRecord(given: Omit<JournalRecord, 'schema_version' | 'content_hash'>): JournalRecord {
  return { schema_version: 1, ...given, content_hash: contentHash(given) };
}

function contentHash({
  task_id,
  run_id,
  result,
  summary,
  metadata,
  structured,
}: Omit<JournalRecord, 'schema_version' | 'content_hash' | 'created_at'>): string {
  return chainHash('', canonicalText({ task_id, run_id, result, summary, metadata, structured }));
}

/** The record in a file; null if it is damaged, or not the one that its name promises. */
export function readJournal(name: string, bytes: Uint8Array): JournalRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
  const read = SHAPE.safeParse(value);
  if (!read.success || !isJsonObject(value) || findLimitFault(value) !== null) return null;
  const record = { ...read.data, result: value['result'] ?? null } as JournalRecord;
  const isWhole =
    record.content_hash === contentHash(record) && name === pendingName(record.task_id, record.run_id);
  return isWhole ? record : null;
}

/** The task and run that a name may stand for; more than one where an id holds the separator itself. */
export function identitiesOf(name: string): readonly { readonly taskId: string; readonly runId: string }[] {
  const parts = name.slice(0, -PENDING.length).split('.run-');
  return parts.slice(1).flatMap((_part, index) => {
    const taskId = parts.slice(0, index + 1).join('.run-');
    const runId = parts.slice(index + 1).join('.run-');
    return ID_PATTERN.test(taskId) && ID_PATTERN.test(runId) ? [{ taskId, runId }] : [];
  });
}

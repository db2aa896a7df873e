import type { JsonObject, JsonValue } from '@custody/ledger';
import { isJsonObject } from '@custody/ledger';

/** An item that failed again and again; sweeps leave it alone until someone looks. */
export interface ParkedItem {
  readonly failures: number;
  readonly error: string;
  /** When it failed first, ISO 8601. */
  readonly since: string;
}

/** Failing tasks by id. One with {@link PARK_AFTER} failures or more is parked. */
export type FailureLog = ReadonlyMap<string, ParkedItem>;

/** A row that failed this often will not heal by itself; sweeps would only burn time on it. */
export const PARK_AFTER = 5;

/** Reads the stored failures; what is malformed in it is dropped. */
export function parseFailures(stored: JsonObject | null): FailureLog {
  const items = Object.entries(stored ?? {}).flatMap(([id, value]): [string, ParkedItem][] => {
    if (!isJsonObject(value)) return [];
    const { failures, error, since } = value;
    return typeof failures === 'number' && typeof error === 'string' && typeof since === 'string'
      ? [[id, { failures, error, since }]]
      : [];
  });
  return new Map(items);
}

/** Counts the failures of a pass; a task that did not fail this time is forgotten. */
export function countFailures(
  known: FailureLog,
  pass: {
    readonly tried: readonly string[];
    readonly failed: readonly { readonly task_id: string; readonly error: string }[];
    readonly now: string;
  },
): FailureLog {
  const next = new Map(known);
  for (const id of pass.tried) next.delete(id);
  for (const { task_id, error } of pass.failed) {
    const before = known.get(task_id);
    next.set(task_id, { failures: (before?.failures ?? 0) + 1, error, since: before?.since ?? pass.now });
  }
  return next;
}

/** Ids of the parked tasks. */
export function parkedIds(failures: FailureLog): ReadonlySet<string> {
  return new Set([...failures].filter(([, item]) => item.failures >= PARK_AFTER).map(([id]) => id));
}

/** The failures as a document for the store. */
export function toFailureDocument(failures: FailureLog): JsonObject {
  return Object.fromEntries([...failures].map(([id, item]) => [id, { ...item } as JsonValue]));
}

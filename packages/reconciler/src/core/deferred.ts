import type { JsonObject } from '@custody/ledger';
import { compareCodePoints, isJsonObject } from '@custody/ledger';

/** Tasks whose runs settled while their row was not terminal, each with the time since when it waits. */
export type Deferred = ReadonlyMap<string, string>;

/** More than this many wait only for the next backfill; a bound keeps the state file small. */
const MAX_DEFERRED = 500;

/** The deferred map of a stored cursor; anything malformed in it reads as empty. */
export function parseDeferred(stored: JsonObject | null): Deferred {
  const map = stored?.['deferred'];
  if (!isJsonObject(map)) return new Map();
  return new Map(
    Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** Keeps the newest when there are too many; says how many were dropped. */
export function boundDeferred(deferred: Deferred): { readonly kept: Deferred; readonly dropped: number } {
  if (deferred.size <= MAX_DEFERRED) return { kept: deferred, dropped: 0 };
  const newest = [...deferred]
    .sort(([idA, a], [idB, b]) => compareCodePoints(b, a) || compareCodePoints(idA, idB))
    .slice(0, MAX_DEFERRED);
  return { kept: new Map(newest), dropped: deferred.size - MAX_DEFERRED };
}

/** True if both maps say the same. */
export function isSameDeferred(left: Deferred, right: Deferred): boolean {
  return left.size === right.size && [...left].every(([id, since]) => right.get(id) === since);
}

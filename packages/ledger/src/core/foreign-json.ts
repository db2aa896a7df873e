import { findLimitFault, MAX_DEPTH } from './event-limits.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { isJsonObject } from './json.ts';

/**
 * A foreign object made safe to keep and to fold: what readers disagree about is replaced, as invalid UTF-8
 * is when a log is read. The raw line keeps what was written.
 */
export function toSafeObject(value: JsonObject): JsonObject {
  return findLimitFault(value) === null ? value : safeObject(value, 0);
}

function safeObject(value: JsonObject, depth: number): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key === '__proto__' ? 'x.__proto__' : safeText(key),
      safeValue(item ?? null, depth + 1),
    ]),
  );
}

function safeValue(value: JsonValue, depth: number): JsonValue {
  if (typeof value === 'string') return safeText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'object' || value === null) return value;
  // What nobody nests by hand carries nothing that a fold reads.
  if (depth >= MAX_DEPTH) return null;
  if (isJsonObject(value)) return safeObject(value, depth);
  return value.map((item) => safeValue(item, depth + 1));
}

function safeText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\uFFFD');
}

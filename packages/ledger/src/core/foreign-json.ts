import { findLimitFault, MAX_DEPTH } from './event-limits.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { isJsonObject } from './json.ts';

/** Spellings without which a text holds no surrogate half, no NUL, no reserved key and no number beyond a double. */
const SUSPECT = /\\u(?:0000|d[89a-f])|__proto__|[eE]\+?\d{3}|\d{309}/i;

/** A text with fewer brackets can't be nested too deeply. */
function mayBeDeep(text: string): boolean {
  if (text.length <= 2 * MAX_DEPTH) return false;
  return text.split(/[[{]/, MAX_DEPTH + 1).length > MAX_DEPTH;
}

/**
 * A foreign object made safe to keep and to fold: what readers disagree about is replaced, as invalid UTF-8
 * is when a log is read. The raw line keeps what was written.
 */
export function toSafeObject(value: JsonObject, text: string): JsonObject {
  if (!SUSPECT.test(text) && !mayBeDeep(text)) return value;
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

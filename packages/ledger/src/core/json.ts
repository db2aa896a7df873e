/** A JSON value as `JSON.parse` returns it. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/** A JSON object. Data keeps its on-disk names, so keys are snake_case where the ledger defines them. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** True for a JSON object: not null, not a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A field read as text. Only a string is a string: a number where an id belongs reads as absent,
 * because two large ids would fold into one number.
 */
export function textOf(source: JsonObject, field: string): string {
  const value = Object.hasOwn(source, field) ? source[field] : undefined;
  return typeof value === 'string' ? value : '';
}

/** The list of strings in a field; anything else in the list is dropped, a missing list is empty. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

/** Truth of a foreign value as its writers (Python programs) judge it: empty text, list, object, 0 and null are false. */
export function isTruthy(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  if (isJsonObject(value)) return Object.keys(value).length > 0;
  return true;
}

/** Compares by Unicode code point, as every other program that reads the log sorts (not by UTF-16 unit). */
export function compareCodePoints(left: string, right: string): number {
  const shorter = Math.min(left.length, right.length);
  for (let index = 0; index < shorter; index += 1) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a !== b) {
      // A surrogate stands for a code point above every lone unit, also above U+E000..U+FFFF.
      const aIsSurrogate = a >= 0xd800 && a <= 0xdfff;
      const bIsSurrogate = b >= 0xd800 && b <= 0xdfff;
      if (aIsSurrogate === bIsSurrogate) return a - b;
      return aIsSurrogate ? 1 : -1;
    }
  }
  return left.length - right.length;
}

/** Equality by meaning: the order of keys is free, lists keep theirs. */
export function isSameJson(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => isSameJson(item, right[index]));
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  const keys = Object.keys(left).filter((key) => left[key] !== undefined);
  const others = Object.keys(right).filter((key) => right[key] !== undefined);
  return (
    keys.length === others.length &&
    keys.every((key) => Object.hasOwn(right, key) && isSameJson(left[key], right[key]))
  );
}

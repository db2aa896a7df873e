/** A JSON object as it was read: nothing is known of its values yet. */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The string under a key. Only strings are strings: anything else, a number too, reads as absent. */
export function text(row: JsonObject, key: string): string {
  const value = Object.hasOwn(row, key) ? row[key] : undefined;
  return typeof value === 'string' ? value : '';
}

/** The value under an own key; never one that the object only inherits. */
export function own(row: JsonObject, key: string): unknown {
  return Object.hasOwn(row, key) ? row[key] : undefined;
}

/** Truth as JSON writers mean it: empty strings, lists and objects, zero, null and absence are false. */
export function isTruthy(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isObject(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** The order of code points, which is not that of UTF-16 units beyond U+FFFF. */
export function byCodePoint(left: string, right: string): number {
  const a = Array.from(left, (character) => character.codePointAt(0) ?? 0);
  const b = Array.from(right, (character) => character.codePointAt(0) ?? 0);
  for (let index = 0; index < Math.min(a.length, b.length); index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Equality of JSON values: numbers by value, keys in any order, lists in order. */
export function isSame(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => isSame(item, right[index]));
  }
  if (isObject(left) && isObject(right)) {
    const keys = Object.keys(left);
    return (
      keys.length === Object.keys(right).length &&
      keys.every((key) => Object.hasOwn(right, key) && isSame(left[key], right[key]))
    );
  }
  return left === right;
}

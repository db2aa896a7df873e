import type { JsonValue } from './json.ts';
import { compareCodePoints, isJsonObject } from './json.ts';

/** A value as JSON with the keys of every object in order, so that equal values have equal texts. */
export function canonicalText(value: JsonValue): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: JsonValue | undefined): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => sorted(item));
  if (!isJsonObject(value)) return value === undefined ? null : (value as JsonValue);
  return Object.fromEntries(
    Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort(compareCodePoints)
      .map((key) => [key, sorted(value[key])]),
  );
}

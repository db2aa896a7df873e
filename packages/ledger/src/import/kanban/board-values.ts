import type { JsonObject, JsonValue } from '../../core/json.ts';
import type { IsoTime } from '../../core/time.ts';
import { toIsoTime } from '../../core/time.ts';

/** A row of a board. */
export type BoardRow = Readonly<Record<string, unknown>>;

/** Beyond this no date is written with four digits of a year. */
const LAST_SECOND = 253_402_300_799;

/** Epoch seconds as a time; null for what is none. */
export function timeOf(value: unknown): IsoTime | null {
  if (typeof value !== 'number' || !(value >= 0 && value <= LAST_SECOND)) return null;
  return toIsoTime(Math.round(value * 1000));
}

/** A text with something in it, or null. */
export function textIn(row: BoardRow, column: string): string | null {
  const value = row[column];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A whole number, or null. */
export function integerIn(row: BoardRow, column: string): number | null {
  const value = row[column];
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

/** A value as JSON keeps it: bytes are not kept. */
export function jsonOf(value: unknown): JsonValue {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

/** The object without fields that say nothing. */
export function withoutNull(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(
      (entry): entry is [string, JsonValue] => entry[1] !== null && entry[1] !== undefined,
    ),
  );
}

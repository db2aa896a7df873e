// One door each: the library's front door loads three hundred modules, which every command would pay for.
import { isValid } from 'date-fns/isValid';
import { parseISO } from 'date-fns/parseISO';
import { toDate } from 'date-fns/toDate';

/** A moment as ISO 8601 in UTC with milliseconds, such as `2026-03-01T02:19:05.946Z`. */
export type IsoTime = string;

const CANONICAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Any ISO 8601 time with a zone as UTC milliseconds; null if the text is no time. */
export function normalizeTime(text: string): IsoTime | null {
  if (CANONICAL.test(text)) return text;
  // Without a zone the moment is not known; foreign writers mean UTC.
  const zoned = /(?:[zZ]|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`;
  const date = parseISO(zoned);
  return isValid(date) ? date.toISOString() : null;
}

/** Milliseconds since the Unix epoch; NaN if the text is no time. */
export function toEpochMillis(text: string): number {
  return parseISO(text).getTime();
}

/** Milliseconds since the Unix epoch as ISO 8601. */
export function toIsoTime(milliseconds: number): IsoTime {
  return toDate(milliseconds).toISOString();
}

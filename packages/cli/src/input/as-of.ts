import type { PastCut } from '@custody/ledger';
import { usageError } from '../errors.ts';

/** A date, or a date with a time of day; without a zone it is UTC. */
const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(Z|[+-]\d\d:?\d\d)?)?$/;

/** Where the past ends: a `seq`, or a moment. */
export function asOf(value: string): PastCut {
  if (/^\d{1,15}$/.test(value)) return { seq: Number(value) };
  const [, day = '', clock = '00:00', zone = 'Z'] = TIME.exec(value) ?? [];
  const ms = day === '' ? Number.NaN : Date.parse(`${day}T${clock}${zone}`);
  if (!Number.isNaN(ms)) return { atMs: ms };
  throw usageError(
    `--as-of takes a seq or a time, not ${JSON.stringify(value)}`,
    'For example --as-of 120, --as-of 2026-11-30 or --as-of 2026-11-30T03:12:00Z; times are UTC unless they say otherwise.',
    { option: '--as-of', value },
  );
}

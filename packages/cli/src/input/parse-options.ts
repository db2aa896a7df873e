import { usageError } from '../errors.ts';

/** Parsers of option values, as commander calls them. Each names the option and the value that was wrong. */

/** A count or a place in the log: an integer from 0. */
export function wholeNumber(option: string): (value: string) => number {
  return (value) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (!Number.isNaN(number)) return number;
    throw usageError(
      `${option} takes a whole number, not ${JSON.stringify(value)}`,
      `For example ${option} 100.`,
      { option, value },
    );
  };
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The longest span a timer of Node can wait, in milliseconds; beyond it a timer fires at once. */
const MAX_SPAN_MS = 2_147_483_647;

/** A span such as `500ms`, `30s`, `15m`, `1h`, in milliseconds. */
export function duration(option: string): (value: string) => number {
  return (value) => {
    const [, count = '', unit = ''] = /^(\d{1,10}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(value) ?? [];
    const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
    if (ms >= 1 && ms <= MAX_SPAN_MS) return ms;
    throw usageError(
      `${option} takes a duration up to 24d, not ${JSON.stringify(value)}`,
      `For example ${option} 30s; units are ms, s, m, h and d.`,
      { option, value },
    );
  };
}

/** The hash of a plan, as a dry run printed it. */
export function planHash(value: string): string {
  if (/^[0-9a-f]{64}$/.test(value)) return value;
  throw usageError(
    `--plan takes the plan_hash of a dry run, not ${JSON.stringify(value)}`,
    'Run the command with --dry-run first.',
    { option: '--plan', value },
  );
}

/** A head that was noted earlier. */
export interface ExpectedHead {
  readonly seq: number;
  readonly hash: string;
}

/** A head as `SEQ:HASH`. */
export function expectedHead(value: string): ExpectedHead {
  const [, seq = '', hash = ''] = /^(\d{1,15}):([0-9a-fA-F]{64})$/.exec(value) ?? [];
  if (hash !== '') return { seq: Number(seq), hash: hash.toLowerCase() };
  throw usageError(
    `--expect-head takes SEQ:HASH, not ${JSON.stringify(value)}`,
    'Take head_seq and head_hash of an earlier `custody verify --json`.',
    { option: '--expect-head', value },
  );
}

import { printable } from './printable.ts';

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
];

/** A span as people say it: the two largest units, such as `3d 4h`. */
export function spanText(ms: number): string {
  if (!Number.isFinite(ms) || ms < 1000) return '0s';
  const parts: string[] = [];
  let rest = ms;
  for (const [name, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${name}`);
    if (parts.length === 2 || (parts.length === 1 && count === 0)) break;
  }
  return parts.join(' ');
}

/** How long ago a moment was; `-` when there is none. */
export function sinceText(at: string | null | undefined, nowMs: number): string {
  if (at === null || at === undefined || at === '') return '-';
  return `${spanText(nowMs - Date.parse(at))} ago`;
}

/** A moment as people read it, to the second: `2026-11-30 03:12:45Z`. What is no time is shown as it is. */
export function momentText(at: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(at)
    ? `${at.slice(0, 10)} ${at.slice(11, 19)}Z`
    : printable(at);
}

import type { Paint } from '../command-context.ts';
import { printable, shortened, shortenedInside } from './printable.ts';
import { momentText, spanText } from './time-text.ts';

/** A span of time, drawn as a bar. Times are in milliseconds since the Unix epoch. */
export interface Bar {
  readonly label: string;
  readonly start: number;
  /** Null while it goes on. */
  readonly end: number | null;
  /** What it left is owed from its end on until now. */
  readonly owes: boolean;
  /** True for what may never have begun. */
  readonly isDoubtful: boolean;
  readonly note: string;
}

/** How bars are drawn. */
export interface BarStyle {
  readonly now: number;
  readonly width: number;
  readonly paint: Paint;
}

/** The newest ones are shown when there are more. */
const MAX_BARS = 20;
const MAX_LABEL = 18;
/** Room for our own words behind a span of years; with the longest label it leaves the least bar on 80 columns. */
const MAX_NOTE = 40;
const LEAST_BAR = 16;

/** Bars under one line of time. `=` it ran, `>` it goes on, `.` what it left is owed, `?` nobody knows whether it began. */
export function barLines(bars: readonly Bar[], style: BarStyle): readonly string[] {
  const shown = bars.slice(-MAX_BARS);
  const first = Math.min(...shown.map((bar) => bar.start));
  const last = Math.max(...shown.map((bar) => lastOf(bar, style.now)));
  if (!Number.isFinite(first) || !Number.isFinite(last)) return [];
  const label = Math.min(MAX_LABEL, Math.max(...shown.map((bar) => printable(bar.label).length)));
  const note = Math.min(MAX_NOTE, Math.max(...shown.map((bar) => noteOf(bar, style.now).length)));
  const size = Math.max(LEAST_BAR, style.width - label - note - 6);
  const scale = { first, last, size };
  const left = bars.length - shown.length;
  return [
    ...(left > 0 ? [style.paint.dim(`  ${left} earlier ones are not shown`)] : []),
    ...shown.map((bar) => {
      const name = shortenedInside(printable(bar.label), label).padEnd(label);
      const text = shortened(noteOf(bar, style.now), note);
      return `  ${name}  ${drawn(bar, scale, style)}  ${text}`.trimEnd();
    }),
    style.paint.dim(`  ${' '.repeat(label)}  ${axis(scale, style.now)}`),
  ];
}

interface Scale {
  readonly first: number;
  readonly last: number;
  /** Characters from the first moment to the last. */
  readonly size: number;
}

function lastOf({ start, end, owes }: Bar, now: number): number {
  return Math.max(start, end === null || owes ? now : end);
}

function noteOf({ start, end, note }: Bar, now: number): string {
  return printable(`${spanText((end ?? now) - start)} ${note}`.trim());
}

function drawn(bar: Bar, scale: Scale, { now, paint }: BarStyle): string {
  const from = placeOf(bar.start, scale);
  const to = Math.max(from + 1, placeOf(bar.end ?? now, scale) + (bar.end === null ? 1 : 0));
  const body = bar.isDoubtful ? '?'.repeat(to - from) : bodyOf(to - from, bar.end === null);
  const owed = bar.owes ? '.'.repeat(Math.max(0, scale.size - to)) : '';
  const colour = bar.isDoubtful || bar.end === null ? paint.yellow : paint.green;
  const rest = scale.size - from - body.length - owed.length;
  return `${' '.repeat(from)}${colour(body)}${paint.yellow(owed)}${' '.repeat(Math.max(0, rest))}`;
}

function bodyOf(length: number, goesOn: boolean): string {
  return goesOn ? `${'='.repeat(length - 1)}>` : '='.repeat(length);
}

function placeOf(ms: number, { first, last, size }: Scale): number {
  const part = last === first ? 0 : (Math.min(Math.max(ms, first), last) - first) / (last - first);
  return Math.min(size - 1, Math.floor(part * size));
}

function axis({ first, last, size }: Scale, now: number): string {
  const from = momentText(new Date(first).toISOString());
  const to = last === now ? 'now' : momentText(new Date(last).toISOString()).slice(11);
  const gap = size - from.length - to.length;
  return gap < 1 ? from : `${from}${' '.repeat(gap)}${to}`;
}

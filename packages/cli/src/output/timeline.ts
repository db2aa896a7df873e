import type { RecordedEvent } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import { eventSummary } from './event-summary.ts';
import { printable, shortened, valueText } from './printable.ts';
import type { Bar } from './run-bars.ts';
import { barLines } from './run-bars.ts';
import { momentText } from './time-text.ts';
import { wrapText } from './wrap-text.ts';

/** One event of a timeline. */
export interface TimelineEntry {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly summary: string;
}

/** Events as the entries of a timeline. */
export function toTimeline(events: readonly RecordedEvent[]): readonly TimelineEntry[] {
  return events.map((event) => ({
    seq: event.seq,
    at: event.at,
    type: event.type,
    summary: eventSummary(event),
  }));
}

/** What a person is shown of a record. */
export interface Inspection {
  /** Runs over time. */
  readonly bars: readonly Bar[];
  /** Fields and their values as texts; null when there is no record. */
  readonly record: readonly (readonly [field: string, text: string])[] | null;
  readonly obligations: object;
  readonly timeline: readonly TimelineEntry[];
}

type Style = Pick<CommandContext, 'paint' | 'out' | 'now'>;

/** The newest entries of a timeline say most; `--json` has all. */
const MAX_ENTRIES = 40;

/** A record, its runs over time, its debts and its timeline for people. Empty fields are left out. */
export function inspectionText(
  title: string,
  { bars, record, obligations, timeline }: Inspection,
  style: Style,
): string {
  const { paint, out, now } = style;
  const debts = Object.entries(obligations).filter(
    ([, value]) => value !== false && !EMPTY.has(JSON.stringify(value)),
  );
  const drawn = barLines(bars, { now: now(), width: out.columns, paint });
  return [
    paint.bold(printable(title)),
    ...(drawn.length === 0 ? [] : [paint.bold('over time'), ...drawn]),
    paint.bold('owes'),
    ...(debts.length === 0
      ? ['  nothing']
      : debts.flatMap(([name, value]) => hanging(`  ${name} `, debtText(value), style))),
    paint.bold('record'),
    ...(record === null ? ['  (no row)'] : recordLines(record, style)),
    paint.bold('events'),
    ...timelineLines(timeline, style),
  ].join('\n');
}

function debtText(value: unknown): string {
  return Array.isArray(value) ? value.map(valueText).join(', ') : value === true ? 'yes' : valueText(value);
}

function recordLines(record: readonly (readonly [string, string])[], { out }: Style): readonly string[] {
  return record
    .filter(([, text]) => !EMPTY.has(text))
    .map(([name, text]) => shortened(`  ${printable(name)} ${printable(text)}`, out.columns));
}

function timelineLines(timeline: readonly TimelineEntry[], style: Style): readonly string[] {
  const shown = timeline.slice(-MAX_ENTRIES);
  const earlier = timeline.length - shown.length;
  const width = String(shown.at(-1)?.seq ?? 0).length;
  return [
    ...(earlier > 0 ? [style.paint.dim(`  ${earlier} earlier ones are not shown (--json has all)`)] : []),
    ...shown.flatMap(({ seq, at, type, summary }) =>
      hanging(
        `  ${String(seq).padStart(width)}  ${momentText(at)}  `,
        `${printable(type)}  ${summary}`,
        style,
      ),
    ),
  ];
}

/** A text behind a head, gone on under its own beginning where it is too long for one line. */
function hanging(head: string, text: string, { paint, out }: Style): readonly string[] {
  const [first = '', ...rest] = wrapText(text.trimEnd(), Math.max(20, out.columns - head.length));
  return [`${paint.dim(head)}${first}`, ...rest.map((line) => ' '.repeat(head.length) + line)];
}

/** JSON texts that say nothing. */
const EMPTY: ReadonlySet<string> = new Set(['null', '""', '[]', '{}', 'false', '0']);

import type { RecordedEvent } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import { eventSummary } from './event-summary.ts';
import { printable, valueText } from './printable.ts';

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
  /** Fields and their values as texts; null when there is no record. */
  readonly record: readonly (readonly [field: string, text: string])[] | null;
  readonly obligations: object;
  readonly timeline: readonly TimelineEntry[];
}

/** A record, its debts and its timeline for people. Empty fields are left out. */
export function inspectionText(
  title: string,
  { record, obligations, timeline }: Inspection,
  { paint }: Pick<CommandContext, 'paint'>,
): string {
  const fields = (record ?? []).filter(([, text]) => !EMPTY.has(text));
  const debts = Object.entries(obligations).filter(
    ([, value]) => value !== false && !EMPTY.has(JSON.stringify(value)),
  );
  return [
    paint.bold(printable(title)),
    ...(record === null
      ? ['  (no row)']
      : fields.map(([name, text]) => `  ${paint.dim(printable(name))} ${printable(text)}`)),
    paint.bold('owes'),
    ...(debts.length === 0
      ? ['  nothing']
      : debts.map(([name, value]) => `  ${paint.yellow(name)} ${valueText(value)}`)),
    paint.bold('timeline'),
    ...timeline.map(({ seq, at, type, summary }) =>
      `  ${paint.dim(String(seq).padStart(6))}  ${at}  ${printable(type)}  ${summary}`.trimEnd(),
    ),
  ].join('\n');
}

/** JSON texts that say nothing. */
const EMPTY: ReadonlySet<string> = new Set(['null', '""', '[]', '{}']);

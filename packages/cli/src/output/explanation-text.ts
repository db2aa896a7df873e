import type { RecordedEvent } from '@custody/ledger';
import { textOf } from '@custody/ledger';
import type { PlanEntry } from '@custody/reconciler';
import type { CommandContext } from '../command-context.ts';
import type { Explanation } from '../explain/explain-task.ts';
import type { ExplainedField } from '../explain/explained-fields.ts';
import type { HealRecord } from '../explain/heal-history.ts';
import { commandLines } from './columns.ts';
import { eventSummary } from './event-summary.ts';
import { fieldDiff } from './field-diff.ts';
import { printable, shortened } from './printable.ts';
import { momentText } from './time-text.ts';
import { wrapText } from './wrap-text.ts';

type Style = Pick<CommandContext, 'paint' | 'out' | 'program'>;

/** The newest reasons and heals say most; `--json` has all. */
const MAX_REASONS = 4;
const MAX_HEALS = 5;

/** A row explained for people: why it reads as it does, field by field, what is not true in it, and its heals. */
export function explanationText(explanation: Explanation, style: Style): string {
  const { fields, heal, events } = explanation;
  const { paint } = style;
  const bySeq = new Map(events.map((event) => [event.seq, event]));
  return [
    ...titleLines(explanation, style),
    ...foldedFields(fields).flatMap((field) => [
      ...fieldLines(field, style),
      ...reasonLines(
        field.because.map((reason) => bySeq.get(reason.seq)),
        style,
      ),
    ]),
    ...(heal === null ? [] : untrueLines(heal, bySeq, style)),
    paint.bold('healed'),
    ...healedLines(explanation.healed, style),
  ].join('\n');
}

function titleLines({ row, heal }: Explanation, { paint, out }: Style): readonly string[] {
  const why = [textOf(row.value, 'reason_code'), textOf(row.value, 'error')].filter((text) => text !== '');
  const title = [`task ${row.task_id}: ${row.status || 'no status'}`, ...why].join(', ');
  return [
    ...wrapText(printable(title), out.columns).map((line) => paint.bold(line)),
    ...(heal === null ? [] : [paint.red('the row is not true: see below what the log says')]),
  ];
}

/** Fields that say nothing, for the same reason, share a line behind the others. */
function foldedFields(fields: readonly ExplainedField[]): readonly ExplainedField[] {
  const groups = new Map<string, ExplainedField>();
  for (const field of fields.filter((item) => EMPTY.has(item.raw))) {
    const key = JSON.stringify([field.frozen, field.current, field.because.map(({ seq }) => seq)]);
    const group = groups.get(key);
    groups.set(key, {
      ...field,
      field: group === undefined ? `empty: ${field.field}` : `${group.field}, ${field.field}`,
    });
  }
  return [...fields.filter((item) => !EMPTY.has(item.raw)), ...groups.values()];
}

const MARK = 'frozen  ';

/** JSON texts that say nothing. */
const EMPTY: ReadonlySet<string> = new Set(['null', '""', '[]', '{}']);

function fieldLines(
  { field, raw, frozen, current }: ExplainedField,
  { paint, out }: Style,
): readonly string[] {
  const mark = frozen ? paint.dim('frozen') : current ? paint.green('live  ') : paint.red('untrue');
  const room = out.columns - MARK.length;
  if (EMPTY.has(raw)) {
    const [first = '', ...rest] = wrapText(printable(field), room);
    return [`${mark}  ${first}`, ...rest.map((line) => `${' '.repeat(MARK.length)}${line}`)];
  }
  const value = printable(raw.replaceAll(/\s+/g, ' '));
  return [`${mark}  ${shortened(`${printable(field)} ${value}`, room)}`];
}

function reasonLines(
  reasons: readonly (RecordedEvent | undefined)[],
  { paint, out }: Style,
): readonly string[] {
  const older = reasons.length - MAX_REASONS;
  if (reasons.length === 0) return [paint.dim('          no event: its writer recorded none')];
  return [
    ...reasons
      .slice(-MAX_REASONS)
      .flatMap((event) => (event === undefined ? [] : [paint.dim(eventText(event, out.columns))])),
    ...(older > 0 ? [paint.dim(`          and ${older} earlier events (--json has all)`)] : []),
  ];
}

/** An event on one line: place, time, kind, whom it is about, and what it says. */
function eventText(event: RecordedEvent, width: number): string {
  const about = textOf(event, 'run_id') || textOf(event, 'invocation_id');
  const parts = [
    `          seq ${event.seq}`,
    momentText(event.at),
    printable(about === '' ? event.type : `${event.type} ${about}`),
    eventSummary(event),
  ];
  return shortened(parts.join('  ').trimEnd(), width);
}

function untrueLines(
  heal: PlanEntry,
  bySeq: ReadonlyMap<number, RecordedEvent>,
  style: Style,
): readonly string[] {
  const { paint, out, program } = style;
  return [
    paint.bold('not true: what a heal would change'),
    ...fieldDiff(heal.before, heal.after, { paint, width: out.columns, indent: '  ' }),
    ...reasonLines(
      heal.because.map((seq) => bySeq.get(seq)),
      style,
    ),
    ...commandLines(`${program} clear ${heal.task_id} --dry-run`, '  ', { width: out.columns, paint }),
  ];
}

function healedLines(healed: readonly HealRecord[], { paint, out }: Style): readonly string[] {
  if (healed.length === 0) return ['  never'];
  const earlier = healed.length - MAX_HEALS;
  return [
    ...(earlier > 0 ? [paint.dim(`  ${earlier} earlier heals are not shown (--json has all)`)] : []),
    ...healed
      .slice(-MAX_HEALS)
      .flatMap(({ seq, at, trigger, before, after }) => [
        `  seq ${seq}  ${momentText(at)}  ${printable(trigger)}`,
        ...fieldDiff(before, after, { paint, width: out.columns, indent: '    ' }),
      ]),
  ];
}

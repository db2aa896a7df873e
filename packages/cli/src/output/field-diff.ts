import type { JsonObject, JsonValue } from '@custody/ledger';
import { isJsonObject, isSameJson } from '@custody/ledger';
import type { Paint } from '../command-context.ts';
import { printable, shortened, valueText } from './printable.ts';

/** Repeats the list and its parts for programs; a person reads the list. */
const ENVELOPE = 'delegate_terminal_reconciliation';

/** More changed items of one field than this are counted, not shown. */
const MAX_ITEMS = 20;

/** How a diff is drawn. */
export interface DiffStyle {
  readonly paint: Paint;
  readonly width: number;
  readonly indent: string;
}

/** Fields before and after, item by item: what goes in red, what comes in green, what stays is left out. */
export function fieldDiff(before: JsonObject | null, after: JsonObject, style: DiffStyle): readonly string[] {
  return Object.entries(after).flatMap(([field, value]) => {
    if (field === ENVELOPE) return [style.paint.dim(cut(`${field} (written with it)`, style))];
    const changes = changesOf(before === null ? undefined : (before[field] ?? null), value ?? null);
    const more = changes.length - MAX_ITEMS;
    const inner = { ...style, indent: `${style.indent}  ` };
    return [
      cut(printable(field), style),
      ...changes.slice(0, MAX_ITEMS).map((change) => changeLine(change, inner)),
      ...(more > 0 ? [cut(`and ${more} more`, inner)] : []),
    ];
  });
}

interface Change {
  readonly sign: '-' | '+';
  readonly text: string;
}

function changesOf(before: JsonValue | undefined, after: JsonValue): readonly Change[] {
  if (Array.isArray(after) && (before === undefined || before === null || Array.isArray(before)))
    return listChanges(before ?? [], after);
  if (isJsonObject(after) && isJsonObject(before)) return objectChanges(before, after);
  return [
    ...(before === undefined ? [] : [{ sign: '-', text: valueText(before) } as const]),
    { sign: '+', text: valueText(after) },
  ];
}

function listChanges(before: readonly JsonValue[], after: readonly JsonValue[]): readonly Change[] {
  const gone = before.filter((item) => !after.some((other) => isSameJson(item, other)));
  const come = after.filter((item) => !before.some((other) => isSameJson(item, other)));
  if (gone.length + come.length > 0)
    return [
      ...gone.map((item) => ({ sign: '-', text: valueText(item) }) as const),
      ...come.map((item) => ({ sign: '+', text: valueText(item) }) as const),
    ];
  // The same items in another order, or as often as before: only the whole lists differ.
  return [
    { sign: '-', text: valueText(before) },
    { sign: '+', text: valueText(after) },
  ];
}

function objectChanges(before: JsonObject, after: JsonObject): readonly Change[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key): readonly Change[] => {
    const [old, now] = [before[key], after[key]];
    if (isSameJson(old ?? null, now ?? null)) return [];
    return [
      ...(old === undefined ? [] : [{ sign: '-', text: `${key} ${valueText(old)}` } as const]),
      ...(now === undefined ? [] : [{ sign: '+', text: `${key} ${valueText(now)}` } as const]),
    ];
  });
}

function changeLine({ sign, text }: Change, style: DiffStyle): string {
  const colour = sign === '-' ? style.paint.red : style.paint.green;
  return colour(cut(`${sign} ${printable(text)}`, style));
}

function cut(text: string, { width, indent }: DiffStyle): string {
  return indent + shortened(text, width - indent.length);
}

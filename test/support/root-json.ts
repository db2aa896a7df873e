import type { Random } from './root-random.ts';

const RAW = Symbol('text of a JSON value');

/** A JSON value that is written exactly so: for numbers that no double holds, and for floats like `0.0`. */
export interface RawJson {
  readonly [RAW]: string;
}

export type Json = null | boolean | number | string | RawJson | readonly Json[] | JsonFields;

/** An object to be written; a key that is undefined is left out. */
export interface JsonFields {
  readonly [key: string]: Json | undefined;
}

/** How a writer lays out its JSON. */
export interface JsonStyle {
  readonly isSpaced: boolean;
  /** Whether everything beyond ASCII is written as an escape. */
  readonly isAscii: boolean;
  /** Spaces a level; 0 keeps all on one line. */
  readonly indent: number;
}

export function rawJson(text: string): RawJson {
  return { [RAW]: text };
}

/** A number as a writer with floats prints it: `1.0`, not `1`. */
export function floatJson(value: number): RawJson {
  return rawJson(Number.isInteger(value) ? `${value}.0` : `${value}`);
}

/** One of the layouts that real writers use for a line. */
export function lineStyle(random: Random): JsonStyle {
  return { isSpaced: random.chance(0.7), isAscii: random.chance(0.7), indent: 0 };
}

/** Writes a value as JSON text in a given layout. */
export function renderJson(value: Json, style: JsonStyle, depth = 0): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (typeof value === 'string') return renderString(value, style.isAscii);
  if (isRaw(value)) return value[RAW];
  if (isList(value)) {
    const items = value.map((item) => renderJson(item, style, depth + 1));
    return wrap(['[', ']'], items, { style, depth });
  }
  const fields = Object.entries(value).flatMap(([key, field]) => {
    if (field === undefined) return [];
    const colon = style.isSpaced ? ': ' : ':';
    return [`${renderString(key, style.isAscii)}${colon}${renderJson(field, style, depth + 1)}`];
  });
  return wrap(['{', '}'], fields, { style, depth });
}

function wrap(
  [open, close]: readonly [string, string],
  parts: readonly string[],
  { style, depth }: { readonly style: JsonStyle; readonly depth: number },
): string {
  if (parts.length === 0) return open + close;
  if (style.indent === 0) return open + parts.join(style.isSpaced ? ', ' : ',') + close;
  const margin = ' '.repeat(style.indent * depth);
  const step = ' '.repeat(style.indent);
  return `${open}\n${parts.map((part) => margin + step + part).join(',\n')}\n${margin}${close}`;
}

/** U+E000 is never escaped: the generator puts other bytes in its place. */
function renderString(value: string, isAscii: boolean): string {
  const text = JSON.stringify(value);
  if (!isAscii) return text;
  return text.replace(
    /[\u0080-\udfff\ue001-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function isRaw(value: object): value is RawJson {
  return RAW in value;
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value);
}

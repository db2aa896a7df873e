import type { JsonValue } from './json.ts';

/** The largest stored text of one event, in bytes of UTF-8. */
export const MAX_EVENT_BYTES = 1_048_576;

/** Nesting beyond this is refused: no writer needs it, and readers in other languages stop near it. */
export const MAX_DEPTH = 100;

/** The first thing in a value that JSON readers disagree about or that can't be kept. */
export interface LimitFault {
  /** Path of the value, dot separated. */
  readonly field: string;
  readonly problem: string;
}

/** Finds `__proto__` keys, lone surrogates, NUL, non-finite numbers and values that are no JSON, or null. */
export function findLimitFault(value: unknown, path: readonly string[] = []): LimitFault | null {
  const field = path.join('.');
  if (path.length > MAX_DEPTH) return { field, problem: `is nested deeper than ${MAX_DEPTH} levels` };
  switch (typeof value) {
    case 'string':
      return textFault(value, field);
    case 'number':
      return Number.isFinite(value) ? null : { field, problem: 'is not a finite number' };
    case 'boolean':
    case 'undefined':
      return null;
    case 'object':
      return value === null ? null : nestedFault(value, path);
    case 'bigint':
    case 'function':
    case 'symbol':
      return { field, problem: `is a ${typeof value}, which JSON cannot hold` };
  }
}

function textFault(text: string, field: string): LimitFault | null {
  if (!text.isWellFormed()) return { field, problem: 'contains a lone surrogate' };
  if (text.includes('\u0000')) return { field, problem: 'contains a NUL character' };
  return null;
}

function nestedFault(value: object, path: readonly string[]): LimitFault | null {
  if (Array.isArray(value)) return listFault(value, path);
  if (!isPlain(value))
    return {
      field: path.join('.'),
      problem: 'is an object of a class, such as a date or a map, which JSON cannot hold',
    };
  for (const [key, item] of Object.entries(value as Record<string, JsonValue>)) {
    const place = [...path, key];
    if (key === '__proto__') return { field: place.join('.'), problem: 'is a reserved key' };
    const fault = textFault(key, place.join('.')) ?? findLimitFault(item, place);
    if (fault !== null) return fault;
  }
  return null;
}

function listFault(items: readonly unknown[], path: readonly string[]): LimitFault | null {
  for (const [index, item] of items.entries()) {
    const place = [...path, String(index)];
    // JSON would make it null, and the event then differ from the one handed in.
    if (item === undefined)
      return { field: place.join('.'), problem: 'is undefined, which JSON cannot hold' };
    const fault = findLimitFault(item, place);
    if (fault !== null) return fault;
  }
  return null;
}

/** A date or a map would be printed as something else than what was handed in. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

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
export function findLimitFault(value: unknown): LimitFault | null {
  const fault = faultIn(value, 0);
  return fault === null ? null : { field: fault.path.reverse().join('.'), problem: fault.problem };
}

/** A fault with its path from the inside out: it is put together on the way back, so that sound values cost nothing. */
interface InnerFault {
  readonly path: string[];
  readonly problem: string;
}

function faultIn(value: unknown, depth: number): InnerFault | null {
  if (depth > MAX_DEPTH) return { path: [], problem: `is nested deeper than ${MAX_DEPTH} levels` };
  switch (typeof value) {
    case 'string':
      return textFault(value);
    case 'number':
      return Number.isFinite(value) ? null : { path: [], problem: 'is not a finite number' };
    case 'boolean':
    case 'undefined':
      return null;
    case 'object':
      return value === null ? null : nestedFault(value, depth);
    case 'bigint':
    case 'function':
    case 'symbol':
      return { path: [], problem: `is a ${typeof value}, which JSON cannot hold` };
  }
}

function textFault(text: string): InnerFault | null {
  if (!text.isWellFormed()) return { path: [], problem: 'contains a lone surrogate' };
  if (text.includes('\u0000')) return { path: [], problem: 'contains a NUL character' };
  return null;
}

function nestedFault(value: object, depth: number): InnerFault | null {
  if (Array.isArray(value)) return listFault(value, depth);
  if (!isPlain(value))
    return { path: [], problem: 'is an object of a class, such as a date or a map, which JSON cannot hold' };
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return { path: [key], problem: 'is a reserved key' };
    const fault = textFault(key) ?? faultIn((value as Record<string, unknown>)[key], depth + 1);
    if (fault !== null) return under(key, fault);
  }
  return null;
}

function listFault(items: readonly unknown[], depth: number): InnerFault | null {
  for (const [index, item] of items.entries()) {
    // JSON would make it null, and the event then differ from the one handed in.
    const fault: InnerFault | null =
      item === undefined
        ? { path: [], problem: 'is undefined, which JSON cannot hold' }
        : faultIn(item, depth + 1);
    if (fault !== null) return under(String(index), fault);
  }
  return null;
}

function under(key: string, fault: InnerFault): InnerFault {
  fault.path.push(key);
  return fault;
}

/** A date or a map would be printed as something else than what was handed in. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

import { jsonPieces } from '../json-pieces.ts';

/** An integer of a JSON text that no double holds. */
export interface LossyInteger {
  /** Path of the value, dot separated. */
  readonly field: string;
  readonly literal: string;
}

/** Only integers can be meant exactly; a fraction or a power of ten stands for a measure. */
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /^-?\d{16,}$/;

/** The first integer that reading the text changed, or null. `value` is the text as `JSON.parse` read it. */
export function findLossyInteger(text: string, value: unknown): LossyInteger | null {
  if (!/\d{16}/.test(text)) return null;
  for (const piece of jsonPieces(text)) {
    if (piece.isString) continue;
    for (const [literal] of piece.text.matchAll(NUMBER)) {
      if (LONG_INTEGER.test(literal) && !isKept(literal))
        return { field: pathOf(value, Number(literal)) ?? '', literal };
    }
  }
  return null;
}

function isKept(literal: string): boolean {
  const number = Number(literal);
  return Number.isFinite(number) && BigInt(literal) === BigInt(number);
}

function pathOf(value: unknown, wanted: number, path: readonly string[] = []): string | null {
  if (value === wanted) return path.join('.');
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, item] of Object.entries(value)) {
    const found = pathOf(item, wanted, [...path, key]);
    if (found !== null) return found;
  }
  return null;
}

import { jsonPieces } from '../json-pieces.ts';

/** The exact texts of the items of a JSON array. `text` must be valid JSON, and an array. */
export function splitArray(text: string): readonly string[] {
  const first = text.indexOf('[') + 1;
  const last = text.lastIndexOf(']');
  const bounds = [first - 1, ...commasOf(text), last];
  const items = bounds.slice(1).map((end, index) => text.slice((bounds[index] ?? 0) + 1, end).trim());
  return items.length === 1 && items[0] === '' ? [] : items;
}

/** Indexes of the commas between the items of the outermost array. */
function commasOf(text: string): readonly number[] {
  const commas: number[] = [];
  let depth = 0;
  for (const { mark, index } of marksOf(text)) {
    depth += DEPTH_CHANGE[mark] ?? 0;
    if (mark === ',' && depth === 1) commas.push(index);
  }
  return commas;
}

const DEPTH_CHANGE: Readonly<Record<string, number>> = { '[': 1, '{': 1, ']': -1, '}': -1 };

/** Brackets and commas outside of strings. */
function* marksOf(text: string): Generator<{ readonly mark: string; readonly index: number }, void> {
  for (const piece of jsonPieces(text)) {
    if (piece.isString) continue;
    for (const match of piece.text.matchAll(/[[\]{},]/g))
      yield { mark: match[0], index: piece.start + match.index };
  }
}

import { parseTree } from 'jsonc-parser';
import type { Node } from 'jsonc-parser';

/**
 * A JSON object as its keys and the exact texts of their values. Numbers that fit no double, escapes and
 * nested spelling survive, because values that nobody changes are never parsed and printed again.
 */
export type RawObject = ReadonlyMap<string, string>;

/**
 * Reads an object text. The last of repeated keys wins, as in every JSON reader.
 *
 * @throws SyntaxError if the text is not strict JSON or not an object.
 */
export function parseRawObject(text: string): RawObject {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new SyntaxError('not a JSON object');
  const entries = new Map<string, string>();
  for (const property of parseTree(text)?.children ?? []) {
    const [key, item] = property.children ?? [];
    if (key !== undefined && item !== undefined) entries.set(String(key.value), sliceOf(text, item));
  }
  return entries;
}

function sliceOf(text: string, node: Node): string {
  return text.slice(node.offset, node.offset + node.length);
}

/** Prints with one key a line, `indent` spaces deep; nested values keep their own spelling. */
export function printRawObject(object: RawObject, indent = 2): string {
  if (object.size === 0) return '{}';
  const pad = ' '.repeat(indent);
  const lines = [...object].map(([key, raw]) => `${pad}${JSON.stringify(key)}: ${raw}`);
  return `{\n${lines.join(',\n')}\n}`;
}

/** Prints without white space between keys. */
export function printCompact(object: RawObject): string {
  return `{${[...object].map(([key, raw]) => `${JSON.stringify(key)}:${raw}`).join(',')}}`;
}

/** The text of a new value, indented as it will stand `depth` levels deep in a file with 2 spaces. */
export function toRaw(value: unknown, depth = 1): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${'  '.repeat(depth)}`);
}

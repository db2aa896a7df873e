import type { Node } from 'jsonc-parser';
import { parseTree } from 'jsonc-parser';
import { sliceObject } from './slice-object.ts';

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
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new SyntaxError('not a JSON object');
  return sliceObject(text);
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

/**
 * Equality of two values by meaning, without loss: white space, escapes and the order of keys are free, and
 * numbers that a double would round are equal only digit by digit.
 */
export function isSameRaw(left: string | undefined, right: string | undefined): boolean {
  if (left === right) return true;
  if (left === undefined || right === undefined) return false;
  return isSameNode({ text: left, node: parseTree(left) }, { text: right, node: parseTree(right) });
}

/** A parsed value beside the text that it stands in. */
interface Place {
  readonly text: string;
  readonly node: Node | undefined;
}

function isSameNode(left: Place, right: Place): boolean {
  if (left.node === undefined || left.node.type !== right.node?.type) return false;
  switch (left.node.type) {
    case 'object':
      return isSameObject(left, right);
    case 'array':
      return isSameList(left, right);
    case 'number':
      return isSameNumber(sliceOf(left.text, left.node), sliceOf(right.text, right.node));
    case 'string':
    case 'boolean':
    case 'null':
    case 'property':
      return left.node.value === right.node.value;
  }
}

function isSameObject(left: Place, right: Place): boolean {
  const fields = fieldsOf(left);
  const others = fieldsOf(right);
  return (
    fields.size === others.size &&
    [...fields].every(([key, node]) => isSameNode({ ...left, node }, { ...right, node: others.get(key) }))
  );
}

function isSameList(left: Place, right: Place): boolean {
  const items = left.node?.children ?? [];
  const others = right.node?.children ?? [];
  return (
    items.length === others.length &&
    items.every((node, index) => isSameNode({ ...left, node }, { ...right, node: others[index] }))
  );
}

/** The last of repeated keys wins, as in every JSON reader. */
function fieldsOf({ node }: Place): ReadonlyMap<string, Node | undefined> {
  return new Map((node?.children ?? []).map(({ children }) => [String(children?.[0]?.value), children?.[1]]));
}

/** Digits that a double always keeps. */
const SAFE_DIGITS = 15;

function isSameNumber(left: string, right: string): boolean {
  return left === right || (isExactNumber(left) && isExactNumber(right) && Number(left) === Number(right));
}

/** False for numbers that parsing rounds, also to zero or to infinity. */
function isExactNumber(text: string): boolean {
  const digits = text.replace(/[eE].*$/, '').replaceAll(/[-.]/g, '');
  const value = Number(text);
  return digits.length <= SAFE_DIGITS && Number.isFinite(value) && (value !== 0 || /^0*$/.test(digits));
}

/**
 * The end of the key `"type"`. A search jumps to where the first byte of what it looks for stands, and `y` is the
 * rarest byte of the key: looking for the whole key would stop at every quote.
 */
const KEY_END = Buffer.from('ype"');

/** What stands before it. */
const KEY_START = Buffer.from('"t');

/** How the types of custody rows begin, in both dialects. `\` begins a type that is spelled with escapes. */
const PREFIXES = [
  'delegate',
  'custody',
  'run.',
  'output.',
  'patch.',
  'project.',
  'containment.',
  'task.',
  'ledger.',
  'x.',
  'question.',
  'verdict.',
  'lease.',
  'claim.',
  '\\',
];

/** The prefixes by their first byte. */
const BY_FIRST_BYTE: ReadonlyMap<number, readonly Buffer[]> = new Map(
  PREFIXES.map((prefix): [number, readonly Buffer[]] => [
    prefix.charCodeAt(0),
    PREFIXES.filter((other) => other[0] === prefix[0]).map((other) => Buffer.from(other)),
  ]),
);

const NEWLINE = 0x0a;
const COLON = 0x3a;
const QUOTE = 0x22;

/** A line inside a buffer, without its newline. */
export interface LineSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the lines of a buffer of complete lines that may be custody rows, without splitting or parsing the
 * others. A line that is not found has no key `"type"` whose value begins like one of ours.
 */
export function* findCustodyLines(lines: Buffer): Generator<LineSpan, void> {
  let position = lines.indexOf(KEY_END);
  while (position >= 0) {
    let next = position + KEY_END.length;
    if (isKey(lines, position) && isCustodyValue(lines, next)) {
      const start = lines.lastIndexOf(NEWLINE, position) + 1;
      const end = lines.indexOf(NEWLINE, position);
      yield { start, end };
      next = end + 1;
    }
    position = lines.indexOf(KEY_END, next);
  }
}

function isKey(lines: Buffer, end: number): boolean {
  return lines[end - 1] === KEY_START[1] && lines[end - 2] === KEY_START[0];
}

function isCustodyValue(lines: Buffer, afterKey: number): boolean {
  const colon = skipBlanks(lines, afterKey);
  if (lines[colon] !== COLON) return false;
  const quote = skipBlanks(lines, colon + 1);
  if (lines[quote] !== QUOTE) return false;
  const value = quote + 1;
  const prefixes = BY_FIRST_BYTE.get(lines[value] ?? 0);
  return prefixes?.some((prefix) => startsWith(lines, value, prefix)) ?? false;
}

function startsWith(lines: Buffer, at: number, prefix: Buffer): boolean {
  for (let index = 0; index < prefix.length; index += 1)
    if (lines[at + index] !== prefix[index]) return false;
  return true;
}

function skipBlanks(lines: Buffer, from: number): number {
  let at = from;
  while (lines[at] === 0x20 || lines[at] === 0x09 || lines[at] === 0x0d) at += 1;
  return at;
}

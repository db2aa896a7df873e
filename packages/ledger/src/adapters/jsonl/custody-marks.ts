const TYPE_KEY = Buffer.from('"type"');

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
].map((prefix) => Buffer.from(prefix));

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
  let position = lines.indexOf(TYPE_KEY);
  while (position >= 0) {
    let next = position + TYPE_KEY.length;
    if (isCustodyValue(lines, next)) {
      const start = lines.lastIndexOf(NEWLINE, position) + 1;
      const end = lines.indexOf(NEWLINE, position);
      yield { start, end };
      next = end + 1;
    }
    position = lines.indexOf(TYPE_KEY, next);
  }
}

function isCustodyValue(lines: Buffer, afterKey: number): boolean {
  const colon = skipBlanks(lines, afterKey);
  if (lines[colon] !== COLON) return false;
  const quote = skipBlanks(lines, colon + 1);
  if (lines[quote] !== QUOTE) return false;
  const value = quote + 1;
  return PREFIXES.some(
    (prefix) => lines[value] === prefix[0] && lines.subarray(value, value + prefix.length).equals(prefix),
  );
}

function skipBlanks(lines: Buffer, from: number): number {
  let at = from;
  while (lines[at] === 0x20 || lines[at] === 0x09 || lines[at] === 0x0d) at += 1;
  return at;
}

// A JSON text that was parsed before is known to be well-formed, so that its values can be found by their ends alone. A
// tree of all that is inside of them takes several times as long, and rows are cut at each of their changes.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const CLOSING: ReadonlySet<number> = new Set([0x7d, 0x5d]);
const BLANK: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** The values of a well-formed object text by their keys, each as it is written. The last of repeated keys wins. */
export function sliceObject(text: string): Map<string, string> {
  const entries = new Map<string, string>();
  let at = skipBlank(text, text.indexOf('{') + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = endOfString(text, at);
    const start = skipBlank(text, text.indexOf(':', keyEnd) + 1);
    const end = endOfValue(text, start);
    entries.set(textOfKey(text.slice(at, keyEnd)), text.slice(start, end));
    at = skipBlank(text, end);
    if (text.charCodeAt(at) === COMMA) at = skipBlank(text, at + 1);
  }
  return entries;
}

function textOfKey(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}

function skipBlank(text: string, from: number): number {
  let at = from;
  while (BLANK.has(text.charCodeAt(at))) at += 1;
  return at;
}

/** The place behind the quote that ends the string at a place. */
function endOfString(text: string, start: number): number {
  let end = start;
  do end = text.indexOf('"', end + 1);
  while (isEscaped(text, end));
  return end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  return OPENING.has(first) ? endOfNested(text, start) : endOfWord(text, start);
}

function endOfNested(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const code = text.charCodeAt(at);
    if (OPENING.has(code)) depth += 1;
    else if (CLOSING.has(code)) depth -= 1;
    at = code === QUOTE ? endOfString(text, at) : at + 1;
  } while (depth > 0);
  return at;
}

/** Numbers, true, false and null end where something else begins. */
function endOfWord(text: string, start: number): number {
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === COMMA || CLOSING.has(code) || BLANK.has(code)) return at;
    at += 1;
  }
}

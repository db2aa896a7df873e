/** A string of a JSON text with its quotes, or what stands between two strings. */
export interface JsonPiece {
  readonly isString: boolean;
  readonly text: string;
  /** Index of the first character. */
  readonly start: number;
}

/**
 * Parts a valid JSON text into its strings and the rest, in one pass. A regular expression would do the same, and
 * overflow its stack on a string of some megabytes.
 */
export function* jsonPieces(text: string): Generator<JsonPiece, void> {
  let start = 0;
  while (start < text.length) {
    const quote = text.indexOf('"', start);
    const end = quote < 0 ? text.length : quote;
    if (end > start) yield { isString: false, text: text.slice(start, end), start };
    if (quote < 0) return;
    start = endOfString(text, quote);
    yield { isString: true, text: text.slice(quote, start), start: quote };
  }
}

/** Index behind the closing quote of the string that opens at `quote`. */
function endOfString(text: string, quote: number): number {
  let close = text.indexOf('"', quote + 1);
  while (close > 0 && isEscaped(text, close)) close = text.indexOf('"', close + 1);
  return close < 0 ? text.length : close + 1;
}

/** True if an odd number of backslashes stands before the index. */
function isEscaped(text: string, index: number): boolean {
  let slashes = 0;
  while (text[index - 1 - slashes] === '\\') slashes += 1;
  return slashes % 2 === 1;
}

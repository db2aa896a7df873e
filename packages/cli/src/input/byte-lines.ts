import { CliError, toError } from '../errors.ts';

/** One line of input, decoded. */
export interface InputLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** The longest line that is read at all, in bytes. Escapes make a legal event at most six times as long as its stored text. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = '\ufeff';

/**
 * Splits bytes into batches of lines: what one piece of input completed comes together, so that a slow writer's
 * lines are not held back. The last line counts even without a newline; blank lines are left out.
 *
 * @throws CliError `invalid_json` for bytes that are no UTF-8, `event_too_large` for a line without end; the lines
 * before it have been handed out.
 */
export async function* byteLines(
  input: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly InputLine[], void> {
  const decoder = new LineDecoder();
  for await (const piece of input) {
    yield* batchesOf(decoder, () => decoder.push(piece));
  }
  yield* batchesOf(decoder, () => decoder.end());
}

/** What was read before a fault is handed out first. */
function* batchesOf(decoder: LineDecoder, read: () => void): Generator<readonly InputLine[], void> {
  let fault: Error | null = null;
  try {
    read();
  } catch (error) {
    fault = toError(error);
  }
  const lines = decoder.take();
  if (lines.length > 0) yield lines;
  if (fault !== null) throw fault;
}

class LineDecoder {
  #rest: Buffer[] = [];
  #restBytes = 0;
  #number = 0;
  readonly #lines: InputLine[] = [];
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  push(piece: Uint8Array): void {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#hold(bytes.subarray(start, end));
      this.#finishLine();
      start = end + 1;
    }
    if (start < bytes.length) this.#hold(Buffer.from(bytes.subarray(start)));
  }

  end(): void {
    if (this.#restBytes > 0) this.#finishLine();
  }

  take(): readonly InputLine[] {
    return this.#lines.splice(0);
  }

  #hold(bytes: Buffer): void {
    this.#rest.push(bytes);
    this.#restBytes += bytes.length;
    if (this.#restBytes <= MAX_LINE_BYTES) return;
    throw new CliError('event_too_large', `line ${this.#number + 1} is longer than ${MAX_LINE_BYTES} bytes`, {
      hint: 'Events are JSON Lines: one event a line. Store large parts elsewhere and put a reference into the event.',
      facts: { line: this.#number + 1, limit: MAX_LINE_BYTES },
    });
  }

  #finishLine(): void {
    const bytes = this.#rest.length === 1 ? this.#rest[0] : Buffer.concat(this.#rest, this.#restBytes);
    this.#rest = [];
    this.#restBytes = 0;
    this.#number += 1;
    const text = this.#decode(bytes ?? Buffer.alloc(0));
    if (text.trim() !== '') this.#lines.push({ number: this.#number, text });
  }

  #decode(bytes: Buffer): string {
    try {
      const text = this.#utf8.decode(bytes);
      return this.#number === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
    } catch (cause) {
      throw new CliError('invalid_json', `line ${this.#number} is not valid UTF-8`, {
        hint: 'Write JSON in UTF-8; nothing of this line was taken.',
        facts: { line: this.#number },
        cause,
      });
    }
  }
}

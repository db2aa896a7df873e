import { toLine } from '../core/dialect.ts';
import { chainHash, GENESIS_HASH } from '../core/event-hash.ts';
import { findLimitFault } from '../core/event-limits.ts';
import { isId } from '../core/ids.ts';
import { isJsonObject, textOf } from '../core/json.ts';
import type { NewEvent, RecordedEvent, StoredEvent } from '../core/recorded-event.ts';
import { LEDGER_KEYS, splitPrintedLine } from '../core/recorded-event.ts';
import { InvalidEventError } from '../errors.ts';

/** One line of an export: an event with its place and hash, as `event list` prints it; null if it is none. */
export function parseExportedLine(line: string): StoredEvent | null {
  const parts = splitPrintedLine(line);
  if (parts === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(parts.text);
  } catch {
    return null;
  }
  if (
    !isJsonObject(value) ||
    !Number.isSafeInteger(value['seq']) ||
    !isId(value['id']) ||
    textOf(value, 'type') === ''
  )
    return null;
  if (textOf(value, 'recorded_at') === '' || findLimitFault(value) !== null) return null;
  return { text: parts.text, event: { ...value, hash: parts.hash } as RecordedEvent };
}

/** The event as its writer handed it in, without what the ledger added. */
export function toWriterEvent(event: RecordedEvent): NewEvent {
  return Object.fromEntries(
    Object.entries(event).filter(([key]) => !LEDGER_KEYS.has(key)),
  ) as unknown as NewEvent;
}

/**
 * Judges the hashes of an export, line by line. Those of a SQL or memory ledger run over the printed texts, and
 * then one that does not fit means that a line was changed. Those of a JSONL store run over the raw lines of its
 * log, which an export does not hold: none of them fits, and none can be checked.
 */
export class ExportCheck {
  #previous: RecordedEvent | null = null;
  #fits = 0;
  #misfits = 0;
  #firstMisfit: { readonly line: number; readonly seq: number } | null = null;
  #isRawLine = false;

  add({ event, text }: StoredEvent, line: number): void {
    const before = this.#hashBefore(event);
    this.#previous = event;
    if (before === null) return;
    if (chainHash(before, text) === event.hash) {
      this.#fits += 1;
      return;
    }
    this.#misfits += 1;
    this.#firstMisfit ??= { line, seq: event.seq };
    this.#isRawLine ||= RAW_LINES.some((toRawLine) => chainHash(before, toRawLine(event)) === event.hash);
  }

  /**
   * True if the hashes run over the texts and hold, false if they can't be checked.
   *
   * @throws InvalidEventError naming the first line that was changed.
   */
  isExact(): boolean {
    if (this.#firstMisfit === null) return true;
    if (this.#fits === 0 && (this.#misfits > 1 || this.#isRawLine)) return false;
    const { line, seq } = this.#firstMisfit;
    throw new InvalidEventError(
      'invalid_event',
      `line ${line} does not fit its hash: event ${seq} was changed after it was exported`,
      {
        field: 'hash',
        index: line - 1,
        hint: 'Export it again; nothing of this file was imported.',
        facts: { line, seq, appended: 0 },
      },
    );
  }

  /** The hash that the event's own continues; null if the export does not hold it. */
  #hashBefore(event: RecordedEvent): string | null {
    if (event.seq === 1) return GENESIS_HASH;
    return this.#previous !== null && this.#previous.seq === event.seq - 1 ? this.#previous.hash : null;
  }
}

/** The lines that our own writer may have written for an event. */
const RAW_LINES: readonly ((event: RecordedEvent) => string)[] = [
  (event) => toLine(event, 'custody', true),
  (event) => toLine(event, 'ouroboros', true),
  (event) => toLine(event, 'ouroboros', false),
];

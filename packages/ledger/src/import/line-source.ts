import type { Segment } from '../adapters/jsonl/chain-view.ts';
import type { ClassifiedLine } from '../adapters/jsonl/classified-lines.ts';
import { classifyLines, judge } from '../adapters/jsonl/classified-lines.ts';
import { FIRST_TIME } from '../adapters/jsonl/index-tables.ts';
import { readTextLines } from '../adapters/jsonl/text-lines.ts';
import { derivedId, toGivenEvent } from '../core/dialect.ts';
import { MAX_EVENT_BYTES } from '../core/event-limits.ts';
import { textOf } from '../core/json.ts';
import type { NewEvent } from '../core/recorded-event.ts';
import type { EventSink } from './event-sink.ts';

/** Room for what a ledger adds to an event. */
const ENVELOPE_BYTES = 512;

/** A log that is imported: its rows get the ids that the store itself would give them. */
export class LineSource {
  readonly #sink: EventSink;
  /** Ids that rows of the `ouroboros` dialect gave; a second row with one of them is a row of its own. */
  readonly #givenIds = new Set<string>();
  /** The containment rows that were seen, so that their copies elsewhere are not taken for others. */
  readonly #containment = new Set<string>();
  #lastAt = FIRST_TIME;

  /** Why a line is no event; in a log it is a line of another program, and its inside nobody's business. */
  readonly #whyNoise: (line: Uint8Array) => string;

  constructor(sink: EventSink, whyNoise: (line: Uint8Array) => string = () => 'line of another program') {
    this.#sink = sink;
    this.#whyNoise = whyNoise;
  }

  /** Imports the complete lines of one segment, which begins at an offset of its chain. */
  async take(segment: Segment, chainStart: number): Promise<void> {
    for (const line of classifyLines(segment)) {
      await this.#takeLine(line, { place: segment.name, offset: chainStart + line.start });
    }
  }

  /** Imports what follows the last newline of a file that is finished; in a log it would not exist yet. */
  async takeLastLine(segment: Segment): Promise<void> {
    for (const { text, line, end } of readTextLines(segment)) {
      const bytes = Buffer.from(text);
      const start = segment.size - bytes.length;
      if (end === segment.size)
        await this.#takeLine(
          { line, start, bytes, ...judge(bytes, true) },
          { place: segment.name, offset: start },
        );
    }
  }

  /** Imports the rows of a compact copy that the log itself does not hold. */
  async takeCopies(segment: Segment): Promise<void> {
    for (const line of classifyLines(segment)) {
      if (
        line.event?.type.startsWith('containment.') !== true ||
        this.#containment.has(containmentKey(toGivenEvent(line.event)))
      )
        continue;
      await this.#takeLine(line, { place: segment.name, offset: -1 - line.start });
    }
  }

  async #takeLine(
    line: ClassifiedLine,
    { place, offset }: { readonly place: string; readonly offset: number },
  ): Promise<void> {
    if (line.kind === 'long') {
      this.#sink.skip('invalid', 'longer than any line that is read', { place, line: line.line });
      return;
    }
    if (line.event === null) {
      if (line.kind === 'torn') this.#sink.skip('torn', 'cut when it was written');
      else this.#sink.skip('noise', this.#whyNoise(line.bytes));
      return;
    }
    if (line.bytes.length + ENVELOPE_BYTES > MAX_EVENT_BYTES) {
      this.#sink.skip('invalid', 'larger than an event may be', {
        place,
        line: line.line,
        message: `the row has ${line.bytes.length} bytes; an event has at most ${MAX_EVENT_BYTES}`,
      });
      return;
    }
    const given = toGivenEvent(line.event);
    const derived = derivedId(offset, line.bytes);
    const isForeign = line.event.dialect === 'ouroboros';
    const id = given.id === undefined || (isForeign && this.#givenIds.has(given.id)) ? derived : given.id;
    if (isForeign && given.id !== undefined) this.#givenIds.add(given.id);
    this.#lastAt = line.event.at ?? this.#lastAt;
    if (given.type.startsWith('containment.')) this.#containment.add(containmentKey(given));
    await this.#sink.add(
      {
        event: { ...given, id, at: this.#lastAt },
        place,
        line: line.line,
        ...(isForeign && id !== derived ? { otherId: derived } : {}),
      },
      { characters: line.bytes.length, bytesDone: Math.max(offset, 0) + line.bytes.length },
    );
  }
}

function containmentKey(event: NewEvent): string {
  return JSON.stringify([event.type, textOf(event, 'run_id'), event.at ?? '', textOf(event, 'reason')]);
}

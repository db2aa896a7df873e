import type { AppendRequest } from '../core/append-plan.ts';
import type { AppendResult } from '../core/append-result.ts';
import type { NewEvent, StoredEvent } from '../core/recorded-event.ts';
import { InvalidEventError } from '../errors.ts';
import type { Ledger } from '../shell/ledger.ts';
import type { ImportOptions, ImportProblem, ImportResult } from './import-result.ts';

/** One event on its way, with its place in the source. */
export interface SourceEvent {
  readonly event: NewEvent;
  readonly place: string;
  readonly line: number;
  /** The event as another ledger exported it. */
  readonly exact?: StoredEvent;
  /** The id to take when the given one stands for another event here; absent if the event is then refused. */
  readonly otherId?: string;
}

/** Events of one append: enough to share the cost of a commit, few enough to hold in memory. */
const BATCH = 2000;
const BATCH_CHARACTERS = 8_388_608;

const MAX_PROBLEMS = 100;

/** Hands the events of a source to a ledger in batches, and counts what becomes of them. */
export class EventSink {
  readonly #ledger: Ledger;
  readonly #options: ImportOptions;
  readonly #bytesTotal: number;
  #batch: SourceEvent[] = [];
  #characters = 0;
  #appended = 0;
  #duplicates = 0;
  readonly counts = { noise: 0, torn: 0, invalid: 0, rowsWritten: 0, rowsSkipped: 0 };
  readonly #problems: ImportProblem[] = [];
  readonly #reasons = new Map<string, number>();

  constructor(ledger: Ledger, bytesTotal: number, options: ImportOptions) {
    this.#ledger = ledger;
    this.#bytesTotal = bytesTotal;
    this.#options = options;
  }

  /** Takes one event; `characters` is about what it weighs, `bytesDone` how far the source was read. */
  async add(
    item: SourceEvent,
    { characters, bytesDone }: { readonly characters: number; readonly bytesDone: number },
  ): Promise<void> {
    this.#batch.push(item);
    this.#characters += characters;
    if (this.#batch.length >= BATCH || this.#characters >= BATCH_CHARACTERS) await this.flush(bytesDone);
  }

  /** Counts what is not taken, by why; `problem` tells its place where one can look. */
  skip(
    kind: 'noise' | 'torn' | 'invalid',
    reason: string,
    problem: (Omit<ImportProblem, 'message'> & { readonly message?: string }) | null = null,
  ): void {
    this.counts[kind] += 1;
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
    if (problem !== null) this.report({ message: reason, ...problem });
  }

  report(problem: ImportProblem): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }

  /** Appends what was gathered. */
  async flush(bytesDone: number): Promise<void> {
    let rest: readonly SourceEvent[] = this.#batch;
    this.#batch = [];
    this.#characters = 0;
    while (rest.length > 0) rest = await this.#appendSome(rest);
    this.#options.onProgress?.({
      bytes_done: bytesDone,
      bytes_total: this.#bytesTotal,
      events: this.#appended + this.#duplicates,
    });
  }

  result(offset: number): ImportResult {
    const { noise, torn, invalid, rowsWritten, rowsSkipped } = this.counts;
    return {
      appended: this.#appended,
      duplicates: this.#duplicates,
      rows_written: rowsWritten,
      skipped: { noise, torn, invalid },
      skipped_reasons: Object.fromEntries(this.#reasons),
      rows_skipped: rowsSkipped,
      cursor: { offset },
      problems: this.#problems,
    };
  }

  /** Appends all, or, when one is refused, those before it; returns those that are still to be appended. */
  async #appendSome(items: readonly SourceEvent[]): Promise<readonly SourceEvent[]> {
    try {
      this.#count(await this.#ledger.appendAccepted(toRequest(items)));
      return [];
    } catch (error) {
      if (!(error instanceof InvalidEventError)) throw error;
      const bad = items[error.index];
      if (bad === undefined) throw error;
      const before = items.slice(0, error.index);
      if (before.length > 0) this.#count(await this.#ledger.appendAccepted(toRequest(before)));
      return [...this.#judge(bad, error), ...items.slice(error.index + 1)];
    }
  }

  #judge(bad: SourceEvent, error: InvalidEventError): readonly SourceEvent[] {
    if (bad.exact !== undefined) throw atLine(error, bad.line, this.#appended);
    if (bad.otherId !== undefined) {
      const { otherId, ...item } = bad;
      return [{ ...item, event: { ...bad.event, id: otherId } }];
    }
    this.skip('invalid', REFUSED[error.code] ?? 'refused by the ledger', {
      place: bad.place,
      ...(bad.line > 0 ? { line: bad.line } : {}),
      message: error.message,
    });
    return [];
  }

  #count(result: AppendResult): void {
    this.#appended += result.appended;
    this.#duplicates += result.duplicates;
  }
}

const REFUSED: Readonly<Record<string, string>> = {
  event_id_conflict: 'its id stands for another event',
  event_too_large: 'larger than an event may be',
};

function toRequest(items: readonly SourceEvent[]): Omit<AppendRequest, 'accepted'> {
  const exact = items.flatMap((item) => item.exact ?? []);
  return { events: items.map((item) => item.event), ...(exact.length === items.length ? { exact } : {}) };
}

/** The same refusal, told with the line of the source. */
function atLine(error: InvalidEventError, line: number, appended: number): InvalidEventError {
  return new InvalidEventError(error.code, error.message, {
    field: error.field,
    index: error.index,
    hint: error.hint,
    facts: { ...error.facts, line, appended },
  });
}

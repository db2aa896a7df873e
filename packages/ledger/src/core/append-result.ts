import type { PlacedEvent } from './append-plan.ts';

/** What an append did. */
export interface AppendResult {
  readonly appended: number;
  /** Events whose id the ledger already held, with the same content. */
  readonly duplicates: number;
  readonly first_seq: number | null;
  readonly last_seq: number | null;
  /** The id and place of every event of the request, in its order. */
  readonly events: readonly PlacedEvent[];
}

/** Counts what became of the events of one request. */
export function toAppendResult(events: readonly PlacedEvent[]): AppendResult {
  const written = events.filter((event) => !event.duplicate);
  return {
    appended: written.length,
    duplicates: events.length - written.length,
    first_seq: written[0]?.seq ?? null,
    last_seq: written.at(-1)?.seq ?? null,
    events,
  };
}

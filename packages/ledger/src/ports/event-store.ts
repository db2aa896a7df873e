import type { AppendRequest } from '../core/append-plan.ts';
import type { AppendResult } from '../core/append-result.ts';
import type { StoredEvent } from '../core/recorded-event.ts';
import type { InvalidEventError } from '../errors.ts';

/** Where the log stands. */
export interface Head {
  /** `seq` of the newest event; 0 for an empty ledger. */
  readonly seq: number;
  /** Its chain hash. */
  readonly hash: string;
  readonly epoch: number;
  /** Changes when the store was made anew (also by a rebuild), so that a cursor can notice. */
  readonly incarnation: string;
}

/** The answer to one request: what was written, or why nothing was. */
export type AppendOutcome = AppendResult | InvalidEventError;

/** Which events to read. `after` is exclusive; filters are combined with "and". */
export interface EventQuery {
  readonly after?: number;
  readonly upTo?: number;
  readonly taskId?: string;
  readonly runId?: string;
  readonly type?: string;
  readonly limit?: number;
}

/** The append-only log. No method changes or removes an event. */
export interface EventStore {
  /**
   * Writes requests together, each whole or not at all, and returns once they are durable.
   * A refused request never hinders the others.
   */
  append(requests: readonly AppendRequest[]): Promise<readonly AppendOutcome[]>;
  /** Streams events in the order of `seq`, without holding the history in memory. */
  read(query: EventQuery): AsyncIterable<StoredEvent>;
  head(): Promise<Head>;
}

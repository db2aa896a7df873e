import type { NewEvent } from '../core/recorded-event.ts';
import type { LiveFields, TaskRow } from '../core/task-row.ts';

/** A row beside the version that a compare-and-set names. */
export interface LoadedRow {
  readonly row: TaskRow;
  /** Opaque; changes with every write of the row, by whomever. */
  readonly version: string;
}

/** One guarded write of live fields. */
export interface RowUpdate {
  readonly task_id: string;
  /** The row must still have this version. */
  readonly expected_version: string;
  /** The task must still stand at this `seq` (`facts.last_seq` of the audited custody). */
  readonly custody_seq: number;
  readonly live: LiveFields;
  /** True if the row is right after this write, so that a selection need not look at it again. */
  readonly confirms: boolean;
  /** The evidence event of this change; written with the row where the store can. */
  readonly evidence: NewEvent;
}

/** What became of one guarded write. */
export type RowUpdateResult =
  /** `evidence` says whether the event was recorded with the row; `missing` = the log could not take it. */
  | { readonly outcome: 'updated'; readonly evidence: 'recorded' | 'missing' | 'not_supported' }
  /** The row or the task's events changed since they were read: read again and plan again. */
  | { readonly outcome: 'changed_meanwhile' }
  | { readonly outcome: 'gone' }
  | { readonly outcome: 'failed'; readonly error: Error };

/** A row that was examined and found true, so that the next selection need not look at it. */
export interface ConfirmedRow {
  readonly task_id: string;
  readonly version: string;
  readonly custody_seq: number;
}

/**
 * The rows that the reconciler heals. An orchestrator that keeps rows in its own database implements this
 * port; rows that this ledger holds come with it.
 */
export interface TaskRows {
  /** The row, or null if there is none. @throws InvalidRowError for a row that can't be read. */
  load(taskId: string): Promise<LoadedRow | null>;
  /** Optional: the rows of many tasks at once; those without a row are left out. Unreadable rows are left to `load`. */
  loadMany?(taskIds: readonly string[]): Promise<ReadonlyMap<string, LoadedRow>>;
  /**
   * Ids of terminal rows that may have stopped being true, by code point. A superset is right, a subset is
   * not: every terminal row that changed, or whose task had events, since it was last confirmed.
   */
  selectStale(): Promise<readonly string[]>;
  /** Writes live fields only, each under its compare-and-set; one bad row never stops the others. */
  update(updates: readonly RowUpdate[]): Promise<readonly RowUpdateResult[]>;
  /** Optional: lets `selectStale` skip rows that nothing touches. */
  confirm?(rows: readonly ConfirmedRow[]): Promise<void>;
}

/** What a write of a row by its orchestrator did. */
export type RowPutResult =
  | { readonly outcome: 'written' | 'unchanged'; readonly task_id: string }
  | {
      readonly outcome: 'refused';
      readonly reason: 'row_frozen';
      readonly task_id: string;
      readonly fields: readonly string[];
    };

/** A row that is there and can't be used, with the reason. */
export interface RowProblem {
  readonly task_id: string | null;
  readonly place: string;
  readonly message: string;
}

/** Rows that this ledger holds: the reconciler's port, and the orchestrator's writes and reads. */
export interface OwnTaskRows extends TaskRows {
  /** How many rows there are. */
  count(): Promise<number>;
  /** Merges rows under the terminal write guard, each on its own. */
  put(rows: readonly TaskRow[]): Promise<readonly RowPutResult[]>;
  /** Streams rows by task id; `onProblem` hears of those that can't be read. */
  list(query: {
    readonly status?: string;
    readonly onProblem?: (problem: RowProblem) => void;
  }): AsyncIterable<LoadedRow>;
}

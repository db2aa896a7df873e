import type { JsonObject } from '../core/json.ts';

/** A line or a row that was not taken, and why. */
export interface ImportProblem {
  readonly place: string;
  readonly line?: number;
  readonly task_id?: string;
  readonly message: string;
}

/** What an import did. */
export interface ImportResult {
  readonly appended: number;
  /** Events that the ledger held already. */
  readonly duplicates: number;
  readonly rows_written: number;
  readonly skipped: {
    /** Lines of other subsystems. */
    readonly noise: number;
    /** Lines that were cut when they were written. */
    readonly torn: number;
    /** Custody rows that can't be kept: too large, or with the id of another event. */
    readonly invalid: number;
  };
  /** How many were skipped, by why, in words. */
  readonly skipped_reasons: Readonly<Record<string, number>>;
  /** Rows that can't be read, or that would change what is frozen here. */
  readonly rows_skipped: number;
  /** Up to where the source was read: `offset` in its bytes, archives first. */
  readonly cursor: JsonObject;
  /** What was not taken, the first hundred. */
  readonly problems: readonly ImportProblem[];
}

/** How far an import is. */
export interface ImportProgress {
  readonly bytes_done: number;
  readonly bytes_total: number;
  readonly events: number;
}

/** How an import is done. */
export interface ImportOptions {
  /** Hears of the progress, once for each batch. */
  readonly onProgress?: (progress: ImportProgress) => void;
}

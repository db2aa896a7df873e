import type { JsonObject } from '../core/json.ts';

/** One bounded look at the log after a position. */
export type SettleScanResult =
  | {
      readonly outcome: 'scanned';
      /** Tasks named by settled or absent runs, each once. */
      readonly task_ids: readonly string[];
      /** Events (or lines) looked at. */
      readonly scanned: number;
      /** Where the next scan goes on; equal to the given position when there was nothing new. */
      readonly next: JsonObject;
      readonly moved: boolean;
    }
  | { readonly outcome: 'unreadable' };

/** Finds the tasks whose runs settled since a position. The position is opaque to everyone but the store. */
export interface SettleScan {
  /** A position that no longer fits the log (shrunk, restored, rewritten) starts again at the beginning. */
  settledAfter(position: JsonObject | null): Promise<SettleScanResult>;
}

/** Small named documents of the reconciler: its cursor, parked items, last passes. */
export interface StateStore {
  load(name: string): Promise<JsonObject | null>;
  save(name: string, value: JsonObject): Promise<void>;
}

import type { JsonObject } from '@custody/ledger';
import type { PlanEntry } from './plan-hash.ts';

/** A task that a pass could not heal, and why. */
export interface FailedTask {
  readonly task_id: string;
  readonly error: string;
}

/** What a dry run adds: what would be done, and the name to apply exactly that. */
interface Planned {
  readonly plan?: readonly PlanEntry[];
  readonly plan_hash?: string;
}

/** What a backfill did. */
export interface BackfillReport extends Planned {
  readonly trigger: 'boot_backfill';
  /** Rows that were looked at. */
  readonly examined: number;
  readonly refreshed: readonly string[];
  readonly failed: readonly FailedTask[];
  /** Healed rows whose evidence event the log could not take; it is written later. */
  readonly evidence_missing: readonly string[];
}

/** What became of one run or invocation that nobody alive owned. */
export type OrphanOutcome = JsonObject & { readonly action: string };

/** What became of results that waited in journals. */
export interface JournalCounts {
  readonly applied: number;
  readonly stale: number;
  readonly conflict: number;
  readonly retry: number;
  /** Folders that could not be read, and why. */
  readonly errors: readonly string[];
}

/** What a sweep did. */
export interface SweepReport extends Planned {
  readonly trigger: 'sweep_refresh';
  readonly events_scanned: number;
  readonly refreshed: readonly string[];
  /** Tasks whose runs settled while they were not terminal; the next sweeps look again. */
  readonly deferred: readonly string[];
  readonly orphans: readonly OrphanOutcome[];
  /** Managed tasks that can be claimed again, because nobody works on them any more. */
  readonly requeued: readonly string[];
  /** Managed tasks that are blocked now because they failed too often in a row; absent when there are none. */
  readonly gave_up?: readonly string[];
  /** Managed tasks whose lease ran out while their process is alive; absent when there are none. */
  readonly extended?: readonly string[];
  /** What became of results that waited in journals; absent when none were looked at. */
  readonly journals?: JournalCounts;
  readonly failed: readonly FailedTask[];
  readonly evidence_missing: readonly string[];
}

/** What a clear did. */
export interface ClearReport extends Planned {
  readonly trigger: 'kill_path_clear';
  readonly task_id: string;
  readonly refreshed: boolean;
  readonly failed: readonly FailedTask[];
}

/** The answer when the plan that was to be applied is no longer the one that would be made. Nothing was written. */
export interface PlanChanged {
  readonly outcome: 'refused';
  readonly reason: 'plan_changed';
  readonly expected: string;
  readonly plan_hash: string;
}

/** How a pass is run. */
export interface PassOptions {
  /** Say what would be done, and write nothing. */
  readonly dryRun?: boolean;
  /** Apply exactly the plan with this hash, or nothing. */
  readonly plan?: string;
}

import type { JsonObject } from '@custody/ledger';
import { chainHash, GENESIS_HASH } from '@custody/ledger';
import type { Heal } from './plan-heal.ts';

/** One line of a plan, as it is printed. */
export interface PlanEntry {
  readonly task_id: string;
  readonly before: JsonObject;
  readonly after: JsonObject;
  /** `seq` of the events that made the row untrue. */
  readonly because: readonly number[];
}

/** A heal as people and programs see it before it is applied. */
export function toPlanEntry(heal: Heal): PlanEntry {
  return { task_id: heal.task_id, before: heal.before, after: heal.after, because: heal.because };
}

/**
 * Names a plan: the same heals at the same place in the log have the same hash. One event more, or one row
 * that changed, and the hash is another.
 */
export function planHash(
  pass: { readonly trigger: string; readonly head_seq: number; readonly head_hash: string },
  entries: readonly PlanEntry[],
): string {
  return chainHash(GENESIS_HASH, JSON.stringify([pass, entries]));
}

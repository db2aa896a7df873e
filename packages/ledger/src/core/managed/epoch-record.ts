import { isId } from '../ids.ts';
import type { JsonObject } from '../json.ts';

/** The name under which a store keeps who may write in its epoch. */
export const EPOCH_DOCUMENT = 'epoch';

/** The two nodes of a failover: the one that lost the ledger, and the one that it was given to. */
export interface FailoverNodes {
  readonly from_node: string;
  readonly to_node: string;
}

/** How the newest epoch that anybody raised began. */
export interface EpochRecord {
  readonly epoch: number;
  /** The nodes of the failover that raised it; null if no failover did. */
  readonly failover: FailoverNodes | null;
}

/** What a store keeps of an epoch as it begins. */
export function epochDocument(epoch: number, failover: FailoverNodes | null): JsonObject {
  return { epoch, ...failover };
}

/** Reads what a store keeps of its epoch; null if nobody ever raised it. */
export function parseEpoch(stored: JsonObject | null): EpochRecord | null {
  const epoch = stored?.['epoch'];
  if (typeof epoch !== 'number') return null;
  const [from, to] = [stored?.['from_node'], stored?.['to_node']];
  return { epoch, failover: isId(from) && isId(to) ? { from_node: from, to_node: to } : null };
}

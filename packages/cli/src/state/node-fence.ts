import type { Ledger } from '@custody/ledger';
import { fencedFile, readStateFile } from './state-folder.ts';

/** Why a node may not serve as primary. */
export interface NodeFence {
  readonly node: string;
  /** The file that says so; null if only the store does, because the failover has not got further. */
  readonly file: string | null;
  /** The epoch from which on the node is fenced; null if the file does not say. */
  readonly epoch: number | null;
  /** The node that the ledger was given to; null if the store does not name it. */
  readonly successor: string | null;
}

/** Where a node lives and what it writes to. */
export interface FencedPlace {
  readonly folder: string;
  readonly node: string;
}

/**
 * Looks whether a node is fenced, in the state folder and in the store. Call it after the ledger was opened, and serve
 * only if it says null: the store keeps for whom its epoch began, so a handle that is opened while a failover is
 * between raising the epoch and writing the file is no way around the fence.
 */
export async function nodeFence(ledger: Ledger, { folder, node }: FencedPlace): Promise<NodeFence | null> {
  const { EPOCH_DOCUMENT, parseEpoch } = await import('@custody/ledger');
  const record = parseEpoch(await ledger.state.load(EPOCH_DOCUMENT));
  const successor = record?.failover?.to_node ?? null;
  const line = await readStateFile(folder, fencedFile(node));
  if (line !== null) return { node, file: line, epoch: epochIn(line), successor };
  if (successor === null || successor === node) return null;
  return { node, file: null, epoch: record?.epoch ?? null, successor };
}

/** The line that a failover writes about the node that it fenced. */
export function fencedLine(node: string, epoch: number, since: string): string {
  return `${node} fenced at epoch ${epoch} since ${since}`;
}

/** The epoch in the line of a fenced node; null if the line is another. */
export function epochIn(line: string): number | null {
  const [, epoch] = / at epoch (\d{1,15})\b/.exec(line) ?? [];
  return epoch === undefined ? null : Number(epoch);
}

/** Whether a node may take up writing again: a later epoch than its own was raised for it, and it is not fenced. */
export async function isGivenBack(
  ledger: Ledger,
  { folder, node }: FencedPlace,
  epoch: number,
): Promise<boolean> {
  const { EPOCH_DOCUMENT, parseEpoch } = await import('@custody/ledger');
  const record = parseEpoch(await ledger.state.load(EPOCH_DOCUMENT));
  if (record?.failover?.to_node !== node || record.epoch <= epoch) return false;
  return (await readStateFile(folder, fencedFile(node))) === null;
}

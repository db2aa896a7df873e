import type { FailoverNodes, Ledger } from '@custody/ledger';
import { syncFolder, writeDurably } from '../state/durable-file.ts';
import { fencedLine } from '../state/node-fence.ts';
import { fencedFile, readStateFile } from '../state/state-folder.ts';
import type { FailoverTools } from './failover-tools.ts';
import type { FailoverRefusal } from './preflight.ts';
import { isRaisedBy, judgeEpoch, nodesOf } from './preflight.ts';
import { readEpoch } from './read-epoch.ts';
import type { Survey } from './survey.ts';

/**
 * How long the store may be busy, in milliseconds. PostgreSQL cuts a writer off that has stood still inside of a
 * transaction for 30 seconds, such as a paused primary; a SQLite file is free once the paused process is gone.
 */
const BUSY_PATIENCE_MS = 45_000;

/**
 * Takes the ledger from the old node: raises the epoch in the store, unless this very failover has done so, and then
 * writes the file of the fence. The store is where the data is, so the epoch is the fence that counts.
 */
export async function fence(tools: FailoverTools, seen: Survey): Promise<FailoverRefusal | null> {
  const deadline = performance.now() + BUSY_PATIENCE_MS;
  for (;;) {
    try {
      return await fenceOnce(tools, nodesOf(seen));
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
      await tools.tell('fence', 'another process holds the write lock of the store; trying again');
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'busy';
}

async function fenceOnce(tools: FailoverTools, nodes: FailoverNodes): Promise<FailoverRefusal | null> {
  const { tell, onDurable } = tools;
  await using ledger = await tools.open('work');
  const before = await readEpoch(ledger);
  const refusal = judgeEpoch(before.record, nodes);
  if (refusal !== null) return refusal;
  let { epoch } = before;
  if (isRaisedBy(before.record, nodes)) {
    await tell('fence', `the epoch is ${epoch}, raised by this failover`);
  } else {
    // A failover that ended in the middle of this step left no file of its own; its fence holds all the same.
    const unfinished = before.record?.failover?.from_node ?? null;
    if (unfinished !== null) await writeFence(tools, unfinished, epoch);
    epoch = await raise(ledger, tools, nodes);
    await onDurable?.('raised');
  }
  await writeFence(tools, nodes.from_node, epoch);
  await onDurable?.('fenced');
  return null;
}

/** @throws StaleEpochError if another failover was faster: nothing was changed, and running it again tells why. */
async function raise(ledger: Ledger, { tell }: FailoverTools, nodes: FailoverNodes): Promise<number> {
  const raised = await ledger.raiseEpoch(`failover from ${nodes.from_node} to ${nodes.to_node}`, nodes);
  const leases = raised.restamped.length;
  await tell('fence', `the epoch is ${raised.epoch} now; open leases re-stamped: ${leases}`);
  return raised.epoch;
}

/** A node that is fenced already keeps its line: it says since when. */
async function writeFence({ input, now, tell }: FailoverTools, node: string, epoch: number): Promise<void> {
  const { folder } = input;
  const known = await readStateFile(folder, fencedFile(node));
  if (known !== null && known !== '') {
    await syncFolder(folder);
    return tell('fence', known);
  }
  const line = fencedLine(node, epoch, new Date(now()).toISOString());
  await writeDurably(folder, fencedFile(node), `${line}\n`);
  await tell('fence', line);
}

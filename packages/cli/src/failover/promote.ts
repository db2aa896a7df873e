import { upstreamLine } from '../proxy/upstream.ts';
import { syncFolder, writeDurably } from '../state/durable-file.ts';
import { failedFile, readStateFile, roleFile, UPSTREAM_FILE } from '../state/state-folder.ts';
import { confirmRole } from './confirm-role.ts';
import type { FailoverReport } from './failover-report.ts';
import { failoverReport } from './failover-report.ts';
import type { FailoverTools } from './failover-tools.ts';
import { fence } from './fence.ts';
import { lookAtNode } from './look-at-node.ts';
import type { FailoverRefusal } from './preflight.ts';
import { judge } from './preflight.ts';
import { readEpoch } from './read-epoch.ts';
import type { Survey } from './survey.ts';
import { placeOf, survey } from './survey.ts';
import { verifyService } from './verify-service.ts';

/** What a failover that is over says: where things stand, or why it stopped. */
export type FailoverOutcome = FailoverReport | FailoverRefusal;

/**
 * Carries a failover out, or to its end. Each step looks first whether it is done, so that the whole can be run again
 * after a crash at any point.
 *
 * No two nodes can write at any of them: the old one loses the ledger in the transaction that raises the epoch; the
 * new one is told of its role only after that; and whoever opens the ledger in the new epoch finds in the store for
 * which node it began.
 *
 * @throws LedgerError if the store can't be read or written.
 * @throws Error of the file system if the state folder can't.
 */
export async function promote(tools: FailoverTools): Promise<FailoverOutcome> {
  const { input } = tools;
  const seen = await survey(input, await look(tools));
  const refusal = judge(seen, tools.consent);
  if (refusal !== null) return refusal;
  await mark(tools, seen);
  const stopped =
    (await fence(tools, seen)) ??
    (await giveRole(tools, seen)) ??
    (await switchOver(tools)) ??
    (await verifyService(tools, seen.new.name));
  return stopped ?? (await failoverStatus(tools));
}

/** Says where a failover stands. Changes nothing. */
export async function failoverStatus(tools: Pick<FailoverTools, 'input' | 'open'>): Promise<FailoverReport> {
  const { input } = tools;
  const seen = await survey(input, await look(tools));
  return failoverReport(seen, input, await lookAtNode(input.publicUrl ?? input.newUrl));
}

/** Reads the epoch without a handle that could write. */
export async function look({ open }: Pick<FailoverTools, 'open'>): Promise<Survey['epoch']> {
  await using ledger = await open('prove');
  return await readEpoch(ledger);
}

async function mark(
  { input: { folder }, consent, now, tell, onDurable }: FailoverTools,
  { old }: Survey,
): Promise<void> {
  if (old.isFailed) return tell('preflight', `${old.name} is marked as failed`);
  if (!consent.markFailed) return;
  await writeDurably(
    folder,
    failedFile(old.name),
    `${old.name} failed since ${new Date(now()).toISOString()}\n`,
  );
  await onDurable?.('marked');
  await tell('preflight', `${old.name} is marked as failed now`);
}

async function giveRole(tools: FailoverTools, { new: { name } }: Survey): Promise<FailoverRefusal | null> {
  const { input, tell, onDurable } = tools;
  const wasThere = await ensureFile(input.folder, roleFile(name), 'primary');
  await tell('promote', `${roleFile(name)} says primary${wasThere ? '' : ' now'}`);
  await onDurable?.('promoted');
  const refusal = await confirmRole(input.newUrl, name);
  if (refusal !== null) return refusal;
  await tell('promote', `${name} answers as primary`);
  await onDurable?.('confirmed');
  return null;
}

async function switchOver({ input, tell, onDurable }: FailoverTools): Promise<null> {
  const line = upstreamLine(placeOf(input.newUrl));
  const wasThere = await ensureFile(input.folder, UPSTREAM_FILE, line);
  await tell('switch', `${UPSTREAM_FILE} says ${line}${wasThere ? '' : ' now'}`);
  await onDurable?.('switched');
  return null;
}

/** Makes a file say a line; true if it did already. It is durable in any case when this returns. */
async function ensureFile(folder: string, name: string, line: string): Promise<boolean> {
  if ((await readStateFile(folder, name)) === line) {
    await syncFolder(folder);
    return true;
  }
  await writeDurably(folder, name, `${line}\n`);
  return false;
}

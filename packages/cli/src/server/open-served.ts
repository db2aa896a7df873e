import { stat } from 'node:fs/promises';
import type { Ledger } from '@custody/ledger';
import { memoryPlace, openLedger, parseStoreUrl } from '@custody/ledger';
import { CliError } from '../errors.ts';
import { readNodeFiles } from './node-files.ts';

/** Stores with an epoch that a failover can raise. */
const SERVED_KINDS: ReadonlySet<string> = new Set(['memory', 'sqlite', 'postgres']);

/**
 * How a node opens its ledger, again for each term. A memory ledger stays the same for all terms of a process.
 *
 * @throws CliError `not_supported` for a store that can't be served.
 */
export function servedStore(storeUrl: string): (create: boolean) => Promise<Ledger> {
  const { kind } = parseStoreUrl(storeUrl);
  if (!SERVED_KINDS.has(kind))
    throw new CliError('not_supported', `a ${kind} store can't be served`, {
      hint: 'Import it into a SQLite store: custody -s sqlite:PATH event import DIR. Then serve that one.',
      facts: { store: storeUrl },
    });
  const memory = kind === 'memory' ? { memory: memoryPlace(() => crypto.randomUUID()) } : {};
  return (create) => openLedger(storeUrl, { create, ...memory });
}

/**
 * Checks the state folder before a node starts. Without it nobody could tell whether the node is fenced.
 *
 * @throws CliError `state_unreadable` or `node_fenced`.
 */
export async function checkNodeState(directory: string, name: string): Promise<void> {
  const isDirectory = await stat(directory).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isDirectory)
    throw new CliError('state_unreadable', `there is no state folder at ${directory}`, {
      hint: 'Make it with mkdir, or give its place with --state. All nodes of a ledger share one.',
      facts: { directory },
    });
  const { fenced } = await readNodeFiles(directory, name);
  if (fenced === null) return;
  throw new CliError('node_fenced', `${name} is fenced and must not serve: ${fenced}`, {
    hint: `Another node has taken over. To serve from here again, start this one under another name, as a replica.`,
    facts: { node: name, fenced, file: `${name}.fenced` },
  });
}

import { stat } from 'node:fs/promises';
import type { Ledger } from '@custody/ledger';
import { memoryPlace, openLedger, parseStoreUrl } from '@custody/ledger';
import { CliError } from '../errors.ts';

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
      hint:
        kind === 'http'
          ? 'It is served already. Serve it where its store is.'
          : 'Import it into a SQLite store: custody -s sqlite:PATH event import DIR. Then serve that one.',
      facts: { store: storeUrl },
    });
  const memory = kind === 'memory' ? { memory: memoryPlace(() => crypto.randomUUID()) } : {};
  return (create) => openLedger(storeUrl, { create, ...memory });
}

/**
 * Checks that the state folder is there. Without it nobody could tell whether a node is fenced.
 *
 * @throws CliError `state_unreadable`.
 */
export async function checkStateFolder(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => null);
  if (found?.isDirectory() === true) return;
  throw new CliError('state_unreadable', `there is no state folder at ${directory}`, {
    hint: 'Make it with mkdir, or give its place with --state. All nodes of a ledger share one.',
    facts: { directory },
  });
}

import { UsageError } from '../errors.ts';
import type { LedgerStore } from '../ports/ledger-store.ts';
import type { ManagedStore } from '../ports/managed-store.ts';

/** Managed tasks of a store that only observes: every question is refused with the way out. */
export function unsupportedManaged({ kind, url }: Pick<LedgerStore, 'kind' | 'url'>): ManagedStore {
  const refuse = (): never => {
    throw new UsageError('not_supported', `a ${kind} store keeps no managed tasks`, {
      hint: 'Import it into a SQLite store first: custody -s sqlite:PATH event import DIR.',
      facts: { store: url },
    });
  };
  return {
    newId: refuse,
    commits: { mark: async () => refuse(), after: async () => refuse() },
    decide: async () => refuse(),
    read: async () => refuse(),
    questions: async () => refuse(),
    runningTaskIds: async () => refuse(),
    raiseEpoch: async () => refuse(),
  };
}

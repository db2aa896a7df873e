import type { Ledger } from '@custody/ledger';
import type { CommandContext } from './command-context.ts';

/**
 * What a command does to its store. `prove` touches nothing on disk; `look` never makes, migrates or changes a
 * store; `work` writes to one that must be there; `create` makes it when it is missing.
 */
export type StoreUse = 'prove' | 'look' | 'work' | 'create';

/** Opens the store of the command line, runs the work, and closes it whatever happens. */
export async function withLedger<T>(
  context: CommandContext,
  use: StoreUse,
  work: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  const { openLedger, parseStoreUrl } = await import('@custody/ledger');
  // A JSONL store that is opened for reading only can't keep its index, and would read the whole log at each look.
  const canLookWithoutWriting = use === 'look' && parseStoreUrl(context.storeUrl).kind !== 'jsonl';
  const ledger = await openLedger(context.storeUrl, {
    create: use === 'create',
    readOnly: use === 'prove' || canLookWithoutWriting,
  });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

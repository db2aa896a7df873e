import type { Ledger } from '@custody/ledger';
import type { CommandContext } from './command-context.ts';

/**
 * What a command does to its store. `look` reads, and never makes, migrates or repairs anything;
 * `work` writes to a store that must be there; `create` makes it when it is missing.
 */
export type StoreUse = 'look' | 'work' | 'create';

/** Opens the store of the command line, runs the work, and closes it whatever happens. */
export async function withLedger<T>(
  context: CommandContext,
  use: StoreUse,
  work: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  const { openLedger } = await import('@custody/ledger');
  const ledger = await openLedger(context.storeUrl, { create: use === 'create', readOnly: use === 'look' });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

import type { Ledger } from '@custody/ledger';
import type { CommandContext } from './command-context.ts';
import { CliError, usageError } from './errors.ts';
import type { StoreUse } from './open-store.ts';
import { withLedger } from './open-store.ts';

/** How a command on managed tasks opens its store. */
export interface ManagedUse {
  /** @default `work` */
  readonly use?: StoreUse;
  /** Ids that were given, by the option or argument that gave them; checked before the store is touched. */
  readonly ids?: Readonly<Record<string, string | undefined>>;
}

/**
 * Opens a store for a command on managed tasks.
 *
 * @throws CliError `usage` for a blank or malformed id: it is a mistake, never "any".
 * @throws CliError `not_supported` for a store that keeps no managed tasks; it is not made either.
 */
export async function withManagedLedger<T>(
  context: CommandContext,
  { use = 'work', ids = {} }: ManagedUse,
  work: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  await checkManaged(context, ids);
  return withLedger(context, use, work);
}

/** Checks ids and the kind of the store, and opens nothing. */
export async function checkManaged(
  context: CommandContext,
  ids: NonNullable<ManagedUse['ids']>,
): Promise<void> {
  const { isId, parseStoreUrl } = await import('@custody/ledger');
  for (const [option, value] of Object.entries(ids)) {
    if (value === undefined || isId(value)) continue;
    throw usageError(
      `${option} takes an id, not ${JSON.stringify(value)}`,
      'An id has 1 to 128 characters: letters, digits and _ . : -, the first a letter or digit.',
      { option, value },
    );
  }
  if (parseStoreUrl(context.storeUrl).kind !== 'jsonl') return;
  throw new CliError('not_supported', 'a jsonl store keeps no managed tasks', {
    hint: 'Import it into a SQLite store: custody -s sqlite:PATH event import DIR. Then use that one.',
    facts: { store: context.storeUrl },
  });
}

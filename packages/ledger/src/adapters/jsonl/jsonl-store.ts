import type { JsonlDialect } from '../../core/store-url.ts';
import type { Clock, NewId } from '../../ports/clock.ts';
import type { LedgerStore } from '../../ports/ledger-store.ts';

/** What opening a JSONL ledger needs. */
export interface JsonlStoreOptions {
  readonly directory: string;
  /** The dialect to write; null = that of the rows already there, else `custody`. */
  readonly dialect: JsonlDialect | null;
  readonly create: boolean;
  readonly readOnly: boolean;
  readonly clock: Clock;
  readonly newId: NewId;
}

/** A ledger in a directory of JSON Lines and JSON files. */
export async function jsonlStore(_options: JsonlStoreOptions): Promise<LedgerStore> {
  throw new Error('being written');
}

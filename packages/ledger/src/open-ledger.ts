import { memoryStore } from './adapters/memory/memory-store.ts';
import { linuxProcesses } from './adapters/process/linux-processes.ts';
import { systemClock, systemNewId } from './adapters/system.ts';
import { parseStoreUrl } from './core/store-url.ts';
import type { Clock, NewId } from './ports/clock.ts';
import type { LedgerStore } from './ports/ledger-store.ts';
import type { ProcessControl } from './ports/process-control.ts';
import type { Ledger } from './shell/ledger.ts';
import { createLedger } from './shell/ledger.ts';

/** How a ledger is opened; every option has a default that fits a service. */
export interface OpenLedgerOptions {
  /** Make the store when it is missing. @default true */
  readonly create?: boolean;
  /** Open for reading only: nothing is created, migrated or repaired. @default false */
  readonly readOnly?: boolean;
  /** The ledger's clock. @default the host's */
  readonly clock?: Clock;
  /** Ids of events whose writer gave none. @default UUIDv7 */
  readonly newId?: NewId;
  /** The processes of this host, for reclaims and sweeps. @default those that /proc shows */
  readonly processes?: ProcessControl;
  /** Hears of every time that a JSONL store reads its whole log, which only a new or doubtful index makes it do. */
  readonly onReplay?: () => void;
}

/**
 * Opens the ledger at a URL: `sqlite:PATH`, `jsonl:DIR` or `memory:`.
 *
 * @throws UsageError for a URL that names no store.
 * @throws StoreError if the store is missing (with `create: false`), unreadable, of a newer schema, or none at all.
 */
export async function openLedger(url: string, options: OpenLedgerOptions = {}): Promise<Ledger> {
  const settings = {
    create: options.create ?? true,
    readOnly: options.readOnly ?? false,
    clock: options.clock ?? systemClock,
    newId: options.newId ?? systemNewId,
    onReplay: options.onReplay ?? (() => undefined),
  };
  return createLedger(await openStore(url, settings), settings.clock, options.processes ?? linuxProcesses());
}

type Settings = Required<Omit<OpenLedgerOptions, 'processes'>>;

/** Drivers are loaded when their store is opened, so that nobody pays for one he does not use. */
async function openStore(url: string, settings: Settings): Promise<LedgerStore> {
  const location = parseStoreUrl(url);
  switch (location.kind) {
    case 'memory':
      return memoryStore(settings);
    case 'sqlite': {
      const { sqliteStore } = await import('./adapters/sqlite/sqlite-store.ts');
      return sqliteStore({ ...settings, path: location.path, durability: location.durability });
    }
    case 'jsonl': {
      const { jsonlStore } = await import('./adapters/jsonl/jsonl-store.ts');
      return jsonlStore({ ...settings, directory: location.directory, dialect: location.dialect });
    }
  }
}

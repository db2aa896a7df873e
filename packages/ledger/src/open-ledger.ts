import type { MemoryPlace } from './adapters/memory/memory-store.ts';
import { memoryStore } from './adapters/memory/memory-store.ts';
import { linuxProcesses } from './adapters/process/linux-processes.ts';
import { systemClock, systemNewId } from './adapters/system.ts';
import { parseStoreUrl } from './core/store-url.ts';
import { UsageError } from './errors.ts';
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
  /** The ledger's clock. @default the database's on PostgreSQL, the host's elsewhere */
  readonly clock?: Clock;
  /** Ids of events whose writer gave none. @default UUIDv7 */
  readonly newId?: NewId;
  /** The processes of this host, for reclaims and sweeps. @default those that /proc shows */
  readonly processes?: ProcessControl;
  /** The place of a `memory:` ledger that another handle has open or had. @default a new, empty one */
  readonly memory?: MemoryPlace;
  /**
   * What proves to the server of an `http:` ledger who asks.
   *
   * @default the environment variable CUSTODY_TOKEN
   */
  readonly token?: string;
  /** How long requests to an `http:` ledger are made again while there is no answer, in milliseconds. @default 15 s */
  readonly patienceMs?: number;
  /** Hears of every time that a JSONL store reads its whole log, which only a new or doubtful index makes it do. */
  readonly onReplay?: () => void;
}

/**
 * Opens the ledger at a URL: `sqlite:PATH`, `postgres://...`, `http://HOST:PORT`, `jsonl:DIR` or `memory:`.
 *
 * @throws UsageError for a URL that names no store.
 * @throws StoreError if the store is missing (with `create: false`), unreadable, of a newer schema, or none at all.
 */
export async function openLedger(url: string, options: OpenLedgerOptions = {}): Promise<Ledger> {
  const location = parseStoreUrl(url);
  if (location.kind === 'http') return openServed(location.origin, options);
  const store = await openStore(url, options);
  return createLedger(
    store,
    options.clock ?? store.clock ?? systemClock,
    options.processes ?? linuxProcesses(),
  );
}

/** How long a request is made again that nobody answers, in milliseconds. */
const PATIENCE_MS = 15_000;

async function openServed(origin: string, options: OpenLedgerOptions): Promise<Ledger> {
  const { openRemote } = await import('./remote/remote-ledger.ts');
  return openRemote({
    origin,
    token: options.token ?? tokenOf(process.env),
    readOnly: options.readOnly ?? false,
    newId: options.newId ?? systemNewId,
    processes: options.processes ?? linuxProcesses(),
    clock: options.clock ?? null,
    patienceMs: options.patienceMs ?? PATIENCE_MS,
  });
}

function tokenOf(env: NodeJS.ProcessEnv): string | null {
  const token = env['CUSTODY_TOKEN'] ?? '';
  return token === '' ? null : token;
}

/**
 * Opens the store beneath a ledger, for those who put something between the two before they call
 * `createLedger`. Drivers are loaded when their store is opened, so that nobody pays for one he does not use.
 *
 * @throws UsageError and StoreError as `openLedger` does; `not_supported` for a served ledger, whose store is elsewhere.
 */
export async function openStore(
  url: string,
  options: Omit<OpenLedgerOptions, 'processes'> = {},
): Promise<LedgerStore> {
  const location = parseStoreUrl(url);
  const settings = {
    create: options.create ?? true,
    readOnly: options.readOnly ?? false,
    clock: options.clock ?? systemClock,
    newId: options.newId ?? systemNewId,
    onReplay: options.onReplay ?? (() => undefined),
  };
  switch (location.kind) {
    case 'http':
      throw new UsageError('not_supported', 'the store of a served ledger is where its server is', {
        hint: 'Open the ledger with openLedger, or the store on its host.',
        facts: { url: location.origin },
      });
    case 'memory':
      return memoryStore({ ...settings, place: options.memory });
    case 'sqlite': {
      const { sqliteStore } = await import('./adapters/sqlite/sqlite-store.ts');
      return sqliteStore({ ...settings, path: location.path, durability: location.durability });
    }
    case 'postgres': {
      const { postgresStore } = await import('./adapters/postgres/postgres-store.ts');
      return postgresStore({ ...settings, clock: options.clock ?? null, location });
    }
    case 'jsonl': {
      const { jsonlStore } = await import('./adapters/jsonl/jsonl-store.ts');
      return jsonlStore({ ...settings, directory: location.directory, dialect: location.dialect });
    }
  }
}

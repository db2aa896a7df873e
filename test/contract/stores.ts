import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger, OpenLedgerOptions } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { onTestFinished } from 'vitest';
import { takeLedger } from '../support/postgres.ts';

/** One ledger under test, and ways to come to it again. */
export interface OpenStore {
  readonly ledger: Ledger;
  /** The folder that holds the store; null when there is none, or it is a server's. */
  readonly directory: string | null;
  /** True if opening it made the store. */
  readonly isNew: boolean;
  /** Closes the ledger and opens its place anew. */
  reopen(): Promise<Ledger>;
  /** One more handle on the same place, as another process would have it. */
  another(): Promise<Ledger>;
  /** Closes every handle and removes the place. The end of a test does it too. */
  dispose(): Promise<void>;
}

/** A kind of store that every contract runs on. */
export interface StoreKind {
  readonly name: string;
  /** False if a ledger ends with its process: there is nothing to come back to. */
  readonly isDurable: boolean;
  /** What the hashes cover: the printed text of each event, or the lines of a log that other programs write too. */
  readonly chain: 'printed' | 'lines';
  /** False where a row has room for one time only: then an event was recorded when it happened. */
  readonly keepsRecordingTime: boolean;
  open(options?: OpenLedgerOptions): Promise<OpenStore>;
}

const memory: StoreKind = {
  name: 'memory',
  isDurable: false,
  chain: 'printed',
  keepsRecordingTime: true,
  open: async (options = {}) => {
    const ledger = await openLedger('memory:', options);
    const refuse = () => Promise.reject(new Error('a memory ledger has one handle'));
    return {
      ledger,
      directory: null,
      isNew: true,
      reopen: refuse,
      another: refuse,
      dispose: () => ledger.close(),
    };
  },
};

type Traits = Pick<StoreKind, 'name' | 'chain' | 'keepsRecordingTime'>;

/** A place, and how to remove it. */
interface Place {
  readonly url: string;
  readonly directory: string | null;
  readonly isNew: boolean;
  readonly remove: () => Promise<void>;
}

function durable(traits: Traits, makePlace: () => Promise<Place>): StoreKind {
  return {
    isDurable: true,
    ...traits,
    open: async (options = {}) => {
      const { url, directory, isNew, remove } = await makePlace();
      const handles: Ledger[] = [];
      const open = async () => {
        const ledger = await openLedger(url, options);
        handles.push(ledger);
        return ledger;
      };
      const closeAll = async () => {
        for (const handle of handles.splice(0)) await handle.close();
      };
      let removing: Promise<void> | null = null;
      const store: OpenStore = {
        ledger: await open(),
        directory,
        isNew,
        reopen: async () => {
          await closeAll();
          return open();
        },
        another: open,
        dispose: async () => {
          await closeAll();
          removing ??= remove();
          await removing;
        },
      };
      onTestFinished(store.dispose);
      return store;
    },
  };
}

/** A store in a folder of its own. */
function onDisk(traits: Traits, urlIn: (directory: string) => string): StoreKind {
  return durable(traits, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'custody-contract-'));
    return {
      url: urlIn(directory),
      directory,
      isNew: true,
      remove: async () => rmSync(directory, { recursive: true, force: true }),
    };
  });
}

/** Every store there is; adding one here runs every contract on it. */
export const STORES: readonly StoreKind[] = [
  memory,
  onDisk(
    { name: 'sqlite', chain: 'printed', keepsRecordingTime: true },
    (directory) => `sqlite:${join(directory, 'custody.db')}`,
  ),
  onDisk(
    { name: 'jsonl', chain: 'lines', keepsRecordingTime: true },
    (directory) => `jsonl:${join(directory, 'root')}?dialect=custody`,
  ),
  onDisk(
    { name: 'jsonl (ouroboros)', chain: 'lines', keepsRecordingTime: false },
    (directory) => `jsonl:${join(directory, 'root')}?dialect=ouroboros`,
  ),
  durable({ name: 'postgres', chain: 'printed', keepsRecordingTime: true }, async () => {
    const { url, isNew, giveBack } = await takeLedger();
    return { url, directory: null, isNew, remove: giveBack };
  }),
];

/** Those that a second handle can open. */
export const DURABLE_STORES: readonly StoreKind[] = STORES.filter((store) => store.isDurable);

/** Those that a copy of files brings back. */
export const DISK_STORES: readonly StoreKind[] = DURABLE_STORES.filter((store) => store.name !== 'postgres');

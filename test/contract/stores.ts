import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger, OpenLedgerOptions } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { onTestFinished } from 'vitest';

/** One ledger under test, and ways to come to it again. */
export interface OpenStore {
  readonly ledger: Ledger;
  /** The folder that holds the store; null when nothing is on disk. */
  readonly directory: string | null;
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
    return { ledger, directory: null, reopen: refuse, another: refuse, dispose: () => ledger.close() };
  },
};

function durable(
  name: string,
  traits: Pick<StoreKind, 'chain' | 'keepsRecordingTime'>,
  urlIn: (directory: string) => string,
): StoreKind {
  return {
    name,
    isDurable: true,
    ...traits,
    open: async (options = {}) => {
      const directory = mkdtempSync(join(tmpdir(), 'custody-contract-'));
      const url = urlIn(directory);
      const handles: Ledger[] = [];
      const open = async () => {
        const ledger = await openLedger(url, options);
        handles.push(ledger);
        return ledger;
      };
      const closeAll = async () => {
        for (const handle of handles.splice(0)) await handle.close();
      };
      const store: OpenStore = {
        ledger: await open(),
        directory,
        reopen: async () => {
          await closeAll();
          return open();
        },
        another: open,
        dispose: async () => {
          await closeAll();
          rmSync(directory, { recursive: true, force: true });
        },
      };
      onTestFinished(store.dispose);
      return store;
    },
  };
}

/** Every store there is; adding one here runs every contract on it. */
export const STORES: readonly StoreKind[] = [
  memory,
  durable(
    'sqlite',
    { chain: 'printed', keepsRecordingTime: true },
    (directory) => `sqlite:${join(directory, 'custody.db')}`,
  ),
  durable(
    'jsonl',
    { chain: 'lines', keepsRecordingTime: true },
    (directory) => `jsonl:${join(directory, 'root')}?dialect=custody`,
  ),
  durable(
    'jsonl (ouroboros)',
    { chain: 'lines', keepsRecordingTime: false },
    (directory) => `jsonl:${join(directory, 'root')}?dialect=ouroboros`,
  ),
];

/** Those that a second handle can open. */
export const DURABLE_STORES: readonly StoreKind[] = STORES.filter((store) => store.isDurable);

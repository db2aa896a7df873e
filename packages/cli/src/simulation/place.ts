import { rmSync } from 'node:fs';
import type { Clock, LedgerStore, NewId } from '@custody/ledger';
import { memoryPlace, openStore } from '@custody/ledger';

/** The surroundings that a handle brings along. */
export interface HandleParts {
  readonly clock: Clock;
  readonly newId: NewId;
}

/** Where a world keeps its ledger: what is left when every process has ended. */
export interface Place {
  readonly kind: 'memory' | 'sqlite' | 'jsonl';
  /** True if a process that ends inside of a transaction takes the transaction with it. */
  readonly rollsBack: boolean;
  open(parts: HandleParts): Promise<LedgerStore>;
  /** Does something to the place that no process of ours would; says what, or null where nothing can be done. */
  damage?(number: number): 'torn_line' | 'index_lost' | null;
  dispose(): Promise<void>;
}

/** A ledger in the memory of this process. */
export function memoryWorld(newId: NewId): Place {
  const memory = memoryPlace(newId);
  return {
    kind: 'memory',
    rollsBack: false,
    open: (parts) => openStore('memory:', { ...parts, memory }),
    dispose: async () => undefined,
  };
}

/** A ledger in a file of a directory, which is removed in the end. Handles of processes that ended are closed then. */
export function sqliteWorld(directory: string): Place {
  const handles: LedgerStore[] = [];
  return {
    kind: 'sqlite',
    rollsBack: true,
    open: async (parts) => {
      // A crash of a process loses nothing that was committed, so that the disk need not be waited for.
      const store = await openStore(`sqlite:${directory}/custody.db?durability=normal`, parts);
      handles.push(store);
      return store;
    },
    dispose: async () => {
      for (const handle of handles) await handle.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeRoot } from './history-root.ts';
import type { StepFigures } from './history-step.ts';
import type { Comparison } from './round.ts';
import { runStep } from './step.ts';

/** Events of the history that the large one is compared with. */
const SMALL = 10_000;

/** At most so many times what it takes on the small history. */
const FLAT = 1.2;

/** An import of a JSONL log into SQLite, against the rate that is asked for. */
export function importedLog(directory: string, events: number): Comparison {
  return {
    name: `import of ${events} JSONL events into SQLite`,
    units: events,
    unit: 'events',
    atLeast: 1,
    durability: 'WAL, synchronous=FULL',
    note: 'the bound is the budget itself; a process of its own reads, checks, hashes and folds every line',
    ours: { name: 'custody', run: async () => importOnce(directory, events).work_ms },
    bound: { name: '50,000 events/s', run: async () => (events / 50_000) * 1000 },
  };
}

/** The memory of such an import at its peak, against the ceiling. Told in MiB, not as a time. */
export function importMemory(directory: string, events: number): Comparison {
  return {
    name: `memory of an import of ${events} events`,
    units: null,
    unit: 'MiB',
    atLeast: 1,
    durability: 'WAL, synchronous=FULL',
    note: 'resident set of the whole process at its peak, Node itself some 45 MiB of it; ten million events are a figure of `history`',
    ours: { name: 'custody', run: async () => importOnce(directory, events).peak_mib },
    bound: { name: '256 MiB', run: async () => 256 },
  };
}

/** How something is after a large history, against how it is after a small one. */
export function flatOver(
  directory: string,
  {
    what,
    events,
    of,
  }: { readonly what: string; readonly events: number; readonly of: (step: StepFigures) => number },
): Comparison {
  const stores = new Map<number, string>();
  const measure = (size: number) => async () => {
    const store = stores.get(size) ?? filled(directory, size);
    stores.set(size, store);
    return of(runStep('idle', store));
  };
  return {
    name: `${what} after ${events} events`,
    units: null,
    unit: 'ms',
    atLeast: 1 / FLAT,
    durability: 'WAL, synchronous=FULL on both sides',
    note: 'medians of 21 in a process of its own; ten million events are a figure of `history`',
    ours: { name: 'custody', run: measure(events) },
    bound: { name: `the same after ${SMALL}`, run: measure(SMALL) },
    close: async () => {
      for (const store of stores.values()) rmSync(store.slice('sqlite:'.length));
    },
  };
}

let imports = 0;

function importOnce(directory: string, events: number): StepFigures {
  imports += 1;
  const place = join(directory, `import-${imports}`);
  mkdirSync(place);
  writeRoot(join(place, 'root'), events);
  const figures = runStep('import', `sqlite:${join(place, 'custody.db')}`, join(place, 'root'));
  rmSync(place, { recursive: true });
  return figures;
}

function filled(directory: string, events: number): string {
  const root = join(directory, `root-of-${events}`);
  writeRoot(root, events);
  imports += 1;
  const store = `sqlite:${join(directory, `flat-${imports}.db`)}`;
  runStep('import', store, root);
  rmSync(root, { recursive: true });
  return store;
}

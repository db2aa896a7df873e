import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import type { LedgerStore } from '@custody/ledger';
import { openStore } from '@custody/ledger';
import type { Place } from './place.ts';

/** What a program leaves that is killed in the middle of a line. */
const TORN = '{"id":"torn-1","type":"run.started","at":"2026-03-01T00:00:00.000Z","run_id":"r-to';

/** A ledger in a data root, which is removed in the end. Other programs write to its log, too, and are killed. */
export function jsonlWorld(directory: string): Place {
  const handles: LedgerStore[] = [];
  const url = `jsonl:${directory}/root?dialect=custody`;
  return {
    kind: 'jsonl',
    rollsBack: false,
    open: async (parts) => {
      const store = await openStore(url, parts);
      handles.push(store);
      return store;
    },
    damage: (number) => {
      if (number % 3 === 0) {
        for (const part of ['', '-wal', '-shm'])
          rmSync(`${directory}/root/state/custody.db${part}`, { force: true });
        return 'index_lost';
      }
      mkdirSync(`${directory}/root/logs`, { recursive: true });
      appendFileSync(
        `${directory}/root/logs/events.jsonl`,
        TORN.slice(0, 10 + (number % (TORN.length - 10))),
      );
      return 'torn_line';
    },
    dispose: async () => {
      for (const handle of handles) await handle.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

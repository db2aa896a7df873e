import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { CommitSignal } from '../../ports/commit-signal.ts';
import type { Db } from '../sql/tables.ts';

/** Between two looks. A look reads one number that the file's other handles change, and no table. */
const LOOK_EVERY_MS = 100;

/** Watches the number that SQLite changes for a handle whenever another one commits to the same file. */
export function sqliteCommitSignal(reader: Db): CommitSignal {
  const mark = async (): Promise<number> => {
    const { rows } = await sql<{ data_version: number }>`pragma data_version`.execute(reader);
    return rows[0]?.data_version ?? 0;
  };
  return {
    mark,
    after: async (known, { signal, atMostMs }) => {
      const deadline = performance.now() + atMostMs;
      for (;;) {
        signal?.throwIfAborted();
        const left = deadline - performance.now();
        if (left <= 0 || (await mark()) !== known) return;
        await pause(Math.min(LOOK_EVERY_MS, left), signal);
      }
    },
  };
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (error) {
    // The caller is told the reason that he gave, not that a timer was stopped.
    signal?.throwIfAborted();
    throw error;
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import type { CommitSignal } from '../../ports/commit-signal.ts';
import { readHead } from '../sql/read-head.ts';
import type { SqlContext } from '../sql/tables.ts';
import type { CommitListener } from './commit-listener.ts';

/** Between two looks when nothing is heard, in milliseconds. */
const LOOK_EVERY_MS = 500;

/** Watches the head: when a commit is told, and at intervals, since what is told can be lost. */
export function postgresCommitSignal(
  { reader, ledger }: Pick<SqlContext, 'reader' | 'ledger'>,
  listener: CommitListener,
): CommitSignal {
  const mark = async (): Promise<number> => (await readHead(reader, ledger)).seq;
  return {
    mark,
    after: async (known, { signal, atMostMs }) => {
      const deadline = performance.now() + atMostMs;
      for (;;) {
        signal?.throwIfAborted();
        // Listened to before the look, so that no commit falls between the two.
        const done = new AbortController();
        const told = listener.next(done.signal);
        try {
          const left = deadline - performance.now();
          if (left <= 0 || (await mark()) !== known) return;
          await Promise.race([told, pause(Math.min(LOOK_EVERY_MS, left), [done.signal, signal])]);
        } finally {
          done.abort();
        }
      }
    },
  };
}

/** Ends early when one of the signals does; the caller looks which. */
async function pause(ms: number, signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  const signal = AbortSignal.any(signals.filter((one) => one !== undefined));
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

import type { CommitSignal } from '../../ports/commit-signal.ts';
import type { MemoryLog } from './memory-event-store.ts';

/** Waiters are woken by the commit itself. */
export function memoryCommitSignal(log: MemoryLog): CommitSignal {
  return {
    mark: async () => log.stored.length,
    after: async (mark, { signal, atMostMs }) => {
      signal?.throwIfAborted();
      if (log.stored.length !== mark) return;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          log.waiters.delete(wake);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const timer = setTimeout(wake, atMostMs);
        log.waiters.add(wake);
        signal?.addEventListener('abort', wake, { once: true });
      });
      signal?.throwIfAborted();
    },
  };
}

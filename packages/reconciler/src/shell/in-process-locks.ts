import type { Locked, NamedLocks } from '../ports/named-locks.ts';

/** Long enough for a start that waits on its executor, in milliseconds; a caller who waits longer has lost patience. */
const DEFAULT_WAIT_MS = 20_000;

/** Locks among the callers of one process, first come first served. Other processes are not kept out. */
export function inProcessLocks(waitMs = DEFAULT_WAIT_MS): NamedLocks {
  /** For each name the end of the newest holder's turn. */
  const tails = new Map<string, Promise<void>>();
  return {
    hold: async <T>(name: string, work: () => Promise<T>): Promise<Locked<T>> => {
      const before = tails.get(name) ?? Promise.resolve();
      const { promise: turn, resolve: release } = promiseWithResolver();
      // Over when every earlier turn is, too: one who gives up must not let those behind him pass the holder.
      const tail = before
        .then(() => turn)
        .then(() => {
          if (tails.get(name) === tail) tails.delete(name);
        });
      tails.set(name, tail);
      try {
        if (!(await isOverWithin(before, waitMs))) return { outcome: 'timeout' };
        return { outcome: 'done', value: await work() };
      } finally {
        release();
      }
    },
  };
}

function promiseWithResolver(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

async function isOverWithin(turn: Promise<void>, waitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<false>((give) => {
    timer = setTimeout(() => give(false), waitMs);
  });
  try {
    return await Promise.race([turn.then((): true => true), patience]);
  } finally {
    clearTimeout(timer);
  }
}

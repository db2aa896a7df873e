/** What a lock's holder brought back, or that the lock was not free in time. */
export type Locked<T> = { readonly outcome: 'done'; readonly value: T } | { readonly outcome: 'timeout' };

/** Locks by name: one holder at a time. */
export interface NamedLocks {
  /** Runs `work` while the name is held; waits for the name first, for a bounded time. */
  hold<T>(name: string, work: () => Promise<T>): Promise<Locked<T>>;
}

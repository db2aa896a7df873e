/** The answer to an attempt to lead. */
export type Leadership =
  | { readonly outcome: 'leading'; readonly fence: number; readonly expires_at: string }
  | { readonly outcome: 'held'; readonly holder: string; readonly expires_at: string };

/** One leader among processes, by a lease in the store. The row is never deleted: it holds the fence counter. */
export interface LeaderStore {
  /** Takes or renews the lease `name` for `ttlMs` by the store's clock. */
  tryLead(name: string, holder: string, ttlMs: number): Promise<Leadership>;
  /** Gives the lease up if the holder still has it; harmless otherwise. */
  resign(name: string, holder: string): Promise<void>;
}

/** Tells that somebody committed, in this process or another one on the host. */
export interface CommitSignal {
  /** Where the store stands; another value after each commit that changes what can be read. */
  mark(): Promise<number>;
  /**
   * Waits until the store stands elsewhere than at the mark, or the time is over, whichever comes first. It may
   * wake without need, and never sleeps through a commit by more than a fraction of a second.
   *
   * @throws the signal's reason once it is aborted.
   */
  after(
    mark: number,
    wait: { readonly signal?: AbortSignal | undefined; readonly atMostMs: number },
  ): Promise<void>;
}

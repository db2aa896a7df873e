/** A failover, as it was asked for. */
export interface FailoverInput {
  /** The state folder. */
  readonly folder: string;
  readonly oldUrl: URL;
  readonly newUrl: URL;
  /** The proxy; the new node itself is asked when absent. */
  readonly publicUrl: URL | null;
  /** Names of the nodes; found out when absent. */
  readonly oldNode: string | null;
  readonly newNode: string | null;
}

/** What the caller takes on himself. */
export interface FailoverConsent {
  /** Marks the old primary as failed; otherwise somebody must have done so before. */
  readonly markFailed: boolean;
  /** Goes on although the old primary neither answers nor refuses connections. */
  readonly forceFence: boolean;
}

/** One of the five steps, which are done in this order. */
export type FailoverStep = 'preflight' | 'fence' | 'promote' | 'switch' | 'verify';

/**
 * Waits for a number of milliseconds, or until the signal aborts, whichever is first; never rejects.
 * The host's timer in production, one released by hand in tests.
 */
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>;

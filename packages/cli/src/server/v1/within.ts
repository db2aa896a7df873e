import { BusyError } from '@custody/ledger';

/**
 * What work comes to within a time, or null when the time is over first.
 *
 * @throws BusyError once the signal is aborted: whoever still hears of it asks again, perhaps another node.
 */
export async function within<T>(
  milliseconds: number,
  signal: AbortSignal,
  work: (until: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const time = AbortSignal.timeout(milliseconds);
  try {
    return await work(AbortSignal.any([signal, time]));
  } catch (error) {
    if (signal.aborted)
      throw new BusyError('the wait was broken off', {
        hint: 'Ask again; the server stops, or is primary no more.',
      });
    if (time.aborted) return null;
    throw error;
  }
}

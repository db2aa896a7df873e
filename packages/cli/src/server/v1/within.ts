/**
 * What work comes to within a time, or null when the time is over first.
 *
 * @throws the signal's reason once the client has left.
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
    signal.throwIfAborted();
    if (time.aborted) return null;
    throw error;
  }
}

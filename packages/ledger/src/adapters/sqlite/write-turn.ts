/** The last in line for each file; settled as soon as its turn is over. */
const lines = new Map<string, Promise<void>>();

/**
 * Waits until no other handle of this thread writes to the file, given by its real path; the answer ends the turn.
 *
 * SQLite waits for a lock by blocking the thread. A handle of the same thread that holds the lock could then
 * never go on to release it, and both would stand until the time-out.
 */
export async function takeWriteTurn(file: string): Promise<() => void> {
  const before = lines.get(file);
  let end: () => void = () => undefined;
  const turn = new Promise<void>((resolve) => {
    end = resolve;
  });
  lines.set(file, turn);
  await before;
  return () => {
    // Whoever comes last cleans up, so that closed files leave nothing behind.
    if (lines.get(file) === turn) lines.delete(file);
    end();
  };
}

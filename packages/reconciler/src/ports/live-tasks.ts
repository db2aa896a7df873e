/**
 * The tasks whose owners are alive right now: a list, or a function that is asked when the answer is needed.
 * null = unknown. Unknown stops the orphan sweep; the cursor pass then heals what the log names.
 */
export type LiveTaskIds =
  | Iterable<string>
  | null
  | (() => Iterable<string> | null | Promise<Iterable<string> | null>);

/** Asks for the live tasks, now. A question that fails is unknown, too. */
export async function readLiveTasks(live: LiveTaskIds | undefined): Promise<ReadonlySet<string> | null> {
  try {
    const answer = typeof live === 'function' ? await live() : live;
    return answer === null || answer === undefined ? null : new Set(answer);
  } catch {
    return null;
  }
}

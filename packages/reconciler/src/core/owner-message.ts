/**
 * The line for a person that is told of a task's end, whatever the end was: what its disclosure says may still be
 * alive. Empty when nothing is.
 */
export function mayStillBeLive(unreconciled: readonly string[]): string {
  const named = unreconciled.filter((item) => item !== '');
  return named.length === 0 ? '' : `${named.length} delegated run(s) may still be live: ${named.join(', ')}`;
}

/** True if some of the siblings wait for each other in a circle. */
export function hasSiblingCycle(
  siblings: readonly { readonly taskId: string; readonly parents?: readonly string[] }[],
): boolean {
  let waiting = siblings;
  while (waiting.length > 0) {
    const ids = new Set(waiting.map((item) => item.taskId));
    const next = waiting.filter((item) => (item.parents ?? []).some((parent) => ids.has(parent)));
    if (next.length === waiting.length) return true;
    waiting = next;
  }
  return false;
}

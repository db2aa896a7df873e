import type { SqlDialectFlags } from './tables.ts';

type Steps<T extends readonly unknown[]> = { readonly [K in keyof T]: () => Promise<T[K]> };

/**
 * Takes steps that don't need each other's results: all at once where statements travel to a server, so that they
 * cost one way there and back; else one after the other.
 */
export async function gather<T extends readonly unknown[]>(
  { statements }: Pick<SqlDialectFlags, 'statements'>,
  steps: Steps<T>,
): Promise<T> {
  if (statements === 'sent_ahead') return (await Promise.all(steps.map((step) => step()))) as unknown as T;
  const results: unknown[] = [];
  for (const step of steps) results.push(await step());
  return results as unknown as T;
}

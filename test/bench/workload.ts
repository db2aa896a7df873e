import { join } from 'node:path';
import type { NewEvent } from '@custody/ledger';

/** Runs that start and settle in turn, four of them to a task. */
export function eventAt(index: number): NewEvent {
  const run = { run_id: `run-${index >> 1}`, task_id: `task-${index >> 3}` };
  return index % 2 === 0
    ? { type: 'run.started', ...run, route: 'route-a', model: 'model-a' }
    : { type: 'run.settled', ...run, state: 'succeeded', cost_usd: 0.25, spend_disclosed: true };
}

/** The events of one append. */
export function eventsFrom(start: number, count: number): readonly NewEvent[] {
  return Array.from({ length: count }, (_, index) => eventAt(start + index));
}

/** So many events, so many to an append. */
export interface Load {
  readonly count: number;
  readonly batch: number;
}

/** Appends a load by callers at once, each of which waits for its append before it makes the next one. */
export async function byCallers(
  callers: number,
  { count, batch }: Load,
  append: (start: number, size: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const caller = async () => {
    for (let start = next; start < count; start = next) {
      next = start + batch;
      await append(start, batch);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

let files = 0;

/** A place for a new file. */
export function freshFile(directory: string, name: string): string {
  files += 1;
  return join(directory, `${name}-${files}.db`);
}

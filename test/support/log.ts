import type { Ledger, RecordedEvent } from '@custody/ledger';
import { collect } from './collect.ts';

/** The events of the log, oldest first; of some types only, if they are named. */
export async function eventsOf(
  ledger: Ledger,
  ...types: readonly string[]
): Promise<readonly RecordedEvent[]> {
  const all = await collect(ledger.read());
  return all.map((item) => item.event).filter((event) => types.length === 0 || types.includes(event.type));
}

/** The types of the log's events, oldest first. */
export async function typesOf(ledger: Ledger): Promise<readonly string[]> {
  return (await eventsOf(ledger)).map((event) => event.type);
}

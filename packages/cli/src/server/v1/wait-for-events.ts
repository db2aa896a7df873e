import { setTimeout as wait } from 'node:timers/promises';
import type { EventQuery, Ledger, StoredEvent } from '@custody/ledger';

/** How often a log is looked at that may have grown, in milliseconds. */
const LOOK_MS = 200;

/** Events as they are appended, from `after` on, until the signal aborts. It ends then without an error. */
export async function* followEvents(
  ledger: Ledger,
  query: EventQuery & { readonly after: number },
  signal: AbortSignal,
): AsyncGenerator<StoredEvent, void> {
  let { after } = query;
  for (;;) {
    const { seq } = await ledger.head();
    if (seq > after) {
      for await (const item of ledger.read({ ...query, after, upTo: seq })) yield item;
      after = seq;
    }
    if (signal.aborted) return;
    await wait(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Waits until an event fits the query; it may wake up a moment late. */
export async function waitForEvent(ledger: Ledger, query: EventQuery, signal: AbortSignal): Promise<void> {
  const { after = (await ledger.head()).seq, limit: _, ...filter } = query;
  for await (const _event of followEvents(ledger, { ...filter, after }, signal)) return;
}

import { appendFileSync, existsSync } from 'node:fs';
import type { Seams } from '@custody/cli/simulation';
import type { LedgerStore } from '@custody/ledger';

type AppendRequest = Parameters<LedgerStore['events']['append']>[0][number];
type Outcome = Awaited<ReturnType<LedgerStore['events']['append']>>[number];

function rootOf(store: LedgerStore): string {
  return store.url.replace(/^jsonl:/, '').replace(/\?.*$/, '');
}

function isMessage({ events }: AppendRequest): boolean {
  return events.length > 0 && events.every((event) => event['message'] !== undefined);
}

/** Adds a line to the log's file without a look at what stands there. */
function appendBlindly(root: string, { events }: AppendRequest, hasId: boolean): Outcome {
  for (const event of events) {
    const { id, ...rest } = event;
    const line = { ...(hasId ? { id } : {}), at: '2026-03-01T00:00:00.000Z', ...rest };
    appendFileSync(`${root}/logs/events.jsonl`, `${JSON.stringify(line)}\n`);
  }
  const placed = events.map((event) => ({ id: event.id ?? '', seq: 1, duplicate: false }));
  return { appended: events.length, duplicates: 0, first_seq: 1, last_seq: 1, events: placed };
}

/** Appends behind whatever stands at the end of the log, be it a whole line or not. */
export const blindLines: Seams = {
  store: (store) => ({
    ...store,
    events: {
      ...store.events,
      append: async (requests) => {
        const root = rootOf(store);
        if (!requests.every(isMessage) || !existsSync(`${root}/logs/events.jsonl`))
          return store.events.append(requests);
        return requests.map((request) => appendBlindly(root, request, true));
      },
    },
  }),
};

const taken = new WeakMap<object, Set<string>>();

/** Starts with an empty index where it was lost: what was taken before is taken again. */
export const emptyIndex: Seams = {
  store: (store, { world }) => {
    const ids = taken.get(world) ?? new Set<string>();
    taken.set(world, ids);
    return {
      ...store,
      events: {
        ...store.events,
        append: async (requests) => {
          const isKnown = requests.every(({ events }) =>
            events.every(({ id }) => id !== undefined && ids.has(id)),
          );
          if (world.figures.faults.has('index_lost') && isKnown && requests.every(isMessage))
            return requests.map((request) => appendBlindly(rootOf(store), request, false));
          const outcomes = await store.events.append(requests);
          for (const id of requests.flatMap(({ events }) => events.flatMap((event) => event.id ?? [])))
            ids.add(id);
          return outcomes;
        },
      },
    };
  },
};

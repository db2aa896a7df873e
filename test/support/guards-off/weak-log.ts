import type { Seams } from '@custody/cli/simulation';
import type { AppendOutcome, LedgerStore } from '@custody/ledger';
import { BusyError, InvalidEventError, StaleEpochError } from '@custody/ledger';

type Append = LedgerStore['events']['append'];
type AppendRequest = Parameters<Append>[0][number];

function withAppend(store: LedgerStore, append: Append): LedgerStore {
  return { ...store, events: { ...store.events, append } };
}

function withIds(request: AppendRequest, isKept: (id: string) => boolean): AppendRequest {
  return {
    ...request,
    events: request.events.map((event) => {
      if (event.id === undefined || isKept(event.id)) return event;
      const { id: _, ...rest } = event;
      return rest;
    }),
  };
}

/** Says that an event is there as if it had been written. */
function written(request: AppendRequest): AppendOutcome {
  const events = request.events.map((event) => ({ id: event.id ?? '', seq: 1, duplicate: false }));
  return { appended: events.length, duplicates: 0, first_seq: 1, last_seq: 1, events };
}

/** Acknowledges what is written only later: a process that ends in between takes it along. */
export const lateWrites: Seams = {
  store: (store, { world, hasEnded }) => {
    const waiting = waitingOf(world);
    const flush = async (): Promise<void> => {
      for (const write of waiting.splice(0)) await write();
    };
    return {
      ...store,
      events: {
        ...store.events,
        append: async (requests) => {
          if (!requests.every(isMessage)) return store.events.append(requests);
          waiting.push(async () => {
            if (!hasEnded()) await store.events.append(requests);
          });
          return requests.map(written);
        },
        head: async () => {
          await flush();
          return store.events.head();
        },
      },
      custody: {
        ...store.custody,
        isReadable: async () => {
          await flush();
          return store.custody.isReadable();
        },
      },
      scan: {
        settledAfter: async (position) => {
          await flush();
          return store.scan.settledAfter(position);
        },
      },
    };
  },
};

const waitingBy = new WeakMap<object, (() => Promise<void>)[]>();

function waitingOf(world: object): (() => Promise<void>)[] {
  const waiting = waitingBy.get(world) ?? [];
  waitingBy.set(world, waiting);
  return waiting;
}

function isMessage({ events }: AppendRequest): boolean {
  return events.every((event) => event['message'] !== undefined);
}

/** Takes an id that it knows for a new event's. */
export const forgottenIds: Seams = {
  store: (store, { world }) => {
    const known = knownBy.get(world) ?? new Set<string>();
    knownBy.set(world, known);
    return withAppend(store, async (requests) => {
      const fresh = requests.map((request) => withIds(request, (id) => !known.has(id)));
      const outcomes = await store.events.append(fresh);
      for (const id of fresh.flatMap(({ events }) => events.flatMap((event) => event.id ?? [])))
        known.add(id);
      return outcomes;
    });
  },
};

const knownBy = new WeakMap<object, Set<string>>();

/** Drops the end of a run whose start is not there yet, and says that it took it. */
export const endsBeforeStarts: Seams = {
  store: (store) =>
    withAppend(store, async (requests) => {
      const [request] = requests;
      const [event] = request?.events ?? [];
      const isEnd = event?.type === 'run.settled' && event['message'] !== undefined;
      if (request === undefined || !isEnd) return store.events.append(requests);
      const run = await store.custody.run(String(event['run_id']));
      return run?.started === true ? store.events.append(requests) : requests.map(written);
    }),
};

/** Changes the words of an old event. */
export const editedEvent: Seams = {
  store: (store) => ({
    ...store,
    events: {
      ...store.events,
      async *read(query) {
        const { seq } = await store.events.head();
        for await (const item of store.events.read(query))
          yield item.event.seq === 1 && seq > 8
            ? { ...item, text: item.text.replace('"type"', '"typ"') }
            : item;
      },
    },
  }),
};

/** Writes although another handle has taken the ledger over. */
export const anyEpoch: Seams = {
  store: (store, { world }) =>
    withAppend(store, async (requests) => {
      try {
        return await store.events.append(requests);
      } catch (error) {
        if (!(error instanceof StaleEpochError)) throw error;
        const fresh = await world.place.open({
          clock: { now: () => world.now },
          newId: () => `id-${world.next()}`,
        });
        return fresh.events.append(requests);
      }
    }),
};

/** Takes the good events of a batch in which one is bad. */
export const partialBatches: Seams = {
  ledger: (ledger) => ({
    ...ledger,
    append: async (events, options) => {
      try {
        return await ledger.append(events, options);
      } catch (error) {
        if (!(error instanceof InvalidEventError)) throw error;
        await ledger.append(events.toSpliced(error.index, 1), options);
        throw error;
      }
    },
  }),
};

/** Writes all the same where it says that nothing was written: behind a lock, or on a full disk. */
export function writesAllTheSame(fault: 'lock_timeout' | 'disk_full'): Seams {
  return {
    ledger: (ledger) => ({
      ...ledger,
      append: async (events, options) => {
        try {
          return await ledger.append(events, options);
        } catch (error) {
          const isBusy = error instanceof BusyError;
          if (error instanceof InvalidEventError || error instanceof StaleEpochError) throw error;
          if (isBusy === (fault === 'lock_timeout')) await ledger.append(events, options);
          throw error;
        }
      },
    }),
  };
}

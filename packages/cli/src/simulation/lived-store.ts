import type { LedgerStore } from '@custody/ledger';
import type { Life } from './life.ts';

/** A store as one process has it: every call goes through the process's life. */
export function livedStore(store: LedgerStore, life: Life, isUnreadable: () => boolean): LedgerStore {
  const { events, custody, rows, scan, state, leaders, managed, replicas } = store;
  const read = <T>(work: () => Promise<T>): Promise<T> => life.call('read', work);
  const write = <T>(work: () => Promise<T>): Promise<T> => life.call('write', work);
  const { loadMany, confirm } = rows;
  return {
    ...store,
    events: {
      append: (requests) => write(() => events.append(requests)),
      read: (query) => livedStream(life, events.read(query)),
      head: () => read(() => events.head()),
    },
    custody: {
      isReadable: () => read(async () => !isUnreadable() && (await custody.isReadable())),
      tasks: (ids) => read(() => custody.tasks(ids)),
      run: (id) => read(() => custody.run(id)),
      invocation: (id) => read(() => custody.invocation(id)),
      openRuns: () => read(() => custody.openRuns()),
      pendingInvocations: () => read(() => custody.pendingInvocations()),
      owingTaskIds: () => read(() => custody.owingTaskIds()),
      openFaults: () => read(() => custody.openFaults()),
      debts: () => read(() => custody.debts()),
      totals: () => read(() => custody.totals()),
    },
    rows: {
      load: (id) => read(() => rows.load(id)),
      ...(loadMany === undefined ? {} : { loadMany: (ids) => read(() => loadMany(ids)) }),
      selectStale: () => read(() => rows.selectStale()),
      update: (updates) => write(() => rows.update(updates)),
      ...(confirm === undefined ? {} : { confirm: (list) => write(() => confirm(list)) }),
      count: () => read(() => rows.count()),
      put: (list) => write(() => rows.put(list)),
      list: (query) => livedStream(life, rows.list(query)),
    },
    scan: {
      settledAfter: (position) =>
        read(async () => (isUnreadable() ? { outcome: 'unreadable' } : scan.settledAfter(position))),
    },
    state: {
      load: (name) => read(() => state.load(name)),
      save: (name, value) => write(() => state.save(name, value)),
    },
    leaders: {
      tryLead: (name, holder, ttlMs) => write(() => leaders.tryLead(name, holder, ttlMs)),
      resign: (name, holder) => write(() => leaders.resign(name, holder)),
    },
    ...(managed === undefined
      ? {}
      : {
          managed: {
            newId: managed.newId,
            commits: managed.commits,
            decide: (request, decision) => write(() => managed.decide(request, decision)),
            read: (request) => read(() => managed.read(request)),
            questions: (filter) => read(() => managed.questions(filter)),
            runningTaskIds: () => read(() => managed.runningTaskIds()),
            raiseEpoch: (reason) => write(() => managed.raiseEpoch(reason)),
          },
        }),
    ...(replicas === undefined ? {} : { replicas }),
  };
}

async function* livedStream<T>(life: Life, items: AsyncIterable<T>): AsyncGenerator<T, void> {
  const iterator = items[Symbol.asyncIterator]();
  const advance = () => life.call('read', () => iterator.next());
  for (let next = await advance(); next.done !== true; next = await advance()) yield next.value;
}

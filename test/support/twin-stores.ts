import type { AppendRequest, Clock, JsonObject, Ledger, LedgerStore } from '@custody/ledger';
import { createLedger, openStore } from '@custody/ledger';
import { collect } from './collect.ts';
import { fakeProcesses } from './fake-processes.ts';

type Managed = NonNullable<LedgerStore['managed']>;
type Decide = Managed['decide'];
type Decided = Awaited<ReturnType<Decide>>;

/** Something that waits to be done on both stores. */
interface Waiting {
  /** True for decisions, which the store under test may share a commit for. */
  readonly isDecision: boolean;
  readonly onTested: () => Promise<unknown>;
  readonly onModel: () => Promise<unknown>;
  readonly settle: (result: PromiseSettledResult<unknown>) => void;
}

/** A ledger whose commands wait for each other, and are given to the store under test together and to the model one by one. */
export interface TwinStores {
  readonly ledger: Ledger;
  /** Does what waits, and says in how many groups of decisions; what the two stores answered differently is thrown. */
  flush(): Promise<number>;
  /** What both stores hold. */
  holdings(): Promise<readonly [tested: Holdings, model: Holdings]>;
  verify(): ReturnType<LedgerStore['verify']>;
  close(): Promise<void>;
}

/** Opens a store at the URL, and a memory store beside it, with the same time and the same ids. */
export async function openTwins(url: string, clock: Clock): Promise<TwinStores> {
  const tested = await openCounted(url, clock);
  const model = await openCounted('memory:', clock);
  const waiting: Waiting[] = [];
  const wait = <T>(item: Omit<Waiting, 'settle'>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      waiting.push({
        ...item,
        settle: (result) =>
          result.status === 'fulfilled' ? resolve(result.value as T) : reject(result.reason as Error),
      });
    });
  const managed = managedOf(tested);
  const commandIds = countingIds('c');
  const ledger = createLedger(
    {
      ...tested,
      events: {
        ...tested.events,
        append: (requests: readonly AppendRequest[]) =>
          wait({
            isDecision: false,
            onTested: () => tested.events.append(requests),
            onModel: () => model.events.append(requests),
          }),
      },
      managed: {
        ...managed,
        newId: commandIds,
        decide: (request, decision) =>
          wait({
            isDecision: true,
            onTested: () => managed.decide(request, decision),
            onModel: () => managedOf(model).decide(request, decision),
          }),
      },
    },
    clock,
    fakeProcesses(),
  );
  return {
    ledger,
    flush: () => flush(waiting.splice(0)),
    holdings: async () => [await holdingsOf(tested), await holdingsOf(model)],
    verify: () => tested.verify({ rebuild: true }),
    close: async () => {
      await tested.close();
      await model.close();
    },
  };
}

/** Opens a store whose ids count from its opening on: one that had to be made has taken some already. */
async function openCounted(url: string, clock: Clock): Promise<LedgerStore> {
  const ids = { next: countingIds() };
  const store = await openStore(url, { clock, newId: () => ids.next() });
  ids.next = countingIds();
  return store;
}

function managedOf({ managed }: LedgerStore): Managed {
  if (managed === undefined) throw new Error('the store keeps no managed tasks');
  return managed;
}

function countingIds(prefix = 'id'): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}-${String(count).padStart(6, '0')}`;
  };
}

async function flush(items: readonly Waiting[]): Promise<number> {
  let groups = 0;
  let rest = items;
  while (rest.length > 0) {
    const end = rest.findIndex((item) => !item.isDecision);
    const count = end === 0 ? 1 : end < 0 ? rest.length : end;
    await together(rest.slice(0, count));
    rest = rest.slice(count);
    groups += 1;
  }
  return groups;
}

/** All of them in one tick on the store under test; on the model each after the one before it. */
async function together(items: readonly Waiting[]): Promise<void> {
  const results = await Promise.allSettled(items.map((item) => item.onTested()));
  for (const [index, item] of items.entries()) {
    const [expected] = await Promise.allSettled([item.onModel()]);
    const result = results[index];
    if (result === undefined || told(result) !== told(expected))
      throw new Error(
        `decision ${index} of ${items.length}: ${result && told(result)} instead of ${told(expected)}`,
      );
  }
  for (const [index, item] of items.entries()) {
    const result = results[index];
    if (result !== undefined) item.settle(result);
  }
}

function told(result: PromiseSettledResult<unknown>): string {
  if (result.status === 'rejected') return String(result.reason);
  const value = result.value as Decided | readonly unknown[];
  if (!('outcome' in value) || value.outcome === 'refused') return JSON.stringify(value);
  const { after, seqs, answer } = value;
  const ids = [...new Set([...after.candidates, ...(after.runOwner === null ? [] : [after.runOwner])])];
  return JSON.stringify({
    seqs,
    answer,
    after: ids.map((id) => [id, after.taskOf(id), after.leaseOf(id), after.questionsOf(id)]),
  });
}

/** What a store holds; of rows the values, since each store keeps the fields of a terminal row in an order of its own. */
interface Holdings {
  readonly events: readonly string[];
  readonly rows: readonly JsonObject[];
  readonly leases: readonly string[];
  readonly questions: string;
}

async function holdingsOf(store: LedgerStore): Promise<Holdings> {
  const managed = managedOf(store);
  const rows = (await collect(store.rows.list({}))).map(({ row }) => row);
  const leaseOf = async (id: string) => (await managed.read({ taskIds: [id] })).leaseOf(id);
  return {
    events: (await collect(store.events.read({}))).map((item) => item.text),
    rows: rows.map((row) => row.value),
    leases: await Promise.all(rows.map(async (row) => JSON.stringify(await leaseOf(row.task_id)))),
    questions: JSON.stringify(await managed.questions({})),
  };
}

import type {
  BlockKind,
  Claimed,
  JsonValue,
  Ledger,
  ManagedTask,
  OpenLedgerOptions,
  RecordedEvent,
  WorkerExit,
} from '@custody/ledger';
import { SERVED } from '../contract/served-store.ts';
import type { OpenStore, StoreKind } from '../contract/stores.ts';
import { STORES } from '../contract/stores.ts';
import { collect } from './collect.ts';
import type { FakeProcesses } from './fake-processes.ts';
import { fakeProcesses } from './fake-processes.ts';
import type { ManualClock } from './manual-clock.ts';
import { manualClock } from './manual-clock.ts';

/** The stores that keep managed tasks; a JSONL store only observes. */
export const MANAGING_STORES: readonly StoreKind[] = STORES.filter(
  (store) => !store.name.startsWith('jsonl'),
);

/** The same, and a ledger that a server keeps: what a command does must not depend on where its caller is. */
export const COMMANDED_STORES: readonly StoreKind[] = [...MANAGING_STORES, SERVED];

/** A ledger with one task after another, and short words for what tests do to them. */
export interface Desk extends OpenStore {
  readonly clock: ManualClock;
  readonly processes: FakeProcesses;
  /** Claims a task, which must succeed. */
  claim(taskId: string, more?: Partial<Parameters<Ledger['runs']['claim']>[0]>): Promise<Claimed>;
  /** Claims and blocks: the shorthand C,B(kind) of the contract's tables. */
  claimAndBlock(taskId: string, kind?: BlockKind | null): Promise<Claimed>;
  /** C,B,U,C,B: two blocks of one kind, so that the task is in triage. */
  toTriage(taskId: string): Promise<readonly [Claimed, Claimed]>;
  task(taskId: string): Promise<ManagedTask>;
  /** The task's row. */
  row(taskId: string): Promise<Record<string, JsonValue | undefined>>;
  /** The events of a task, or those of one type. */
  events(taskId: string, type?: string): Promise<readonly RecordedEvent[]>;
  /** Everything that a write could change, to be compared before and after a refusal. */
  everything(): Promise<string>;
}

/** Opens a store with a clock that stands and processes that tests make up. */
export async function openDesk(kind: StoreKind, options: OpenLedgerOptions = {}): Promise<Desk> {
  const clock = manualClock();
  const processes = fakeProcesses();
  const store = await kind.open({ clock, processes, ...options });
  const { ledger } = store;
  const eventsOf = async (taskId: string, type?: string) =>
    (await collect(ledger.read({ taskId, ...(type === undefined ? {} : { type }) }))).map(
      (item) => item.event,
    );

  const desk: Desk = {
    ...store,
    clock,
    processes,
    claim: async (taskId, more = {}) => {
      const answer = await ledger.runs.claim({ taskId, holder: 'worker', ...more });
      if (answer.outcome !== 'claimed') throw new Error(`claim of ${taskId}: ${answer.reason}`);
      return answer;
    },
    claimAndBlock: async (taskId, kindOfBlock = null) => {
      const run = await desk.claim(taskId);
      const answer = await ledger.runs.block({
        taskId,
        runId: run.run_id,
        fence: run.fence,
        reason: `blocked ${run.run_id}`,
        kind: kindOfBlock,
      });
      if (answer.outcome !== 'blocked') throw new Error(`block of ${taskId}: ${answer.reason}`);
      return run;
    },
    toTriage: async (taskId) => {
      const first = await desk.claimAndBlock(taskId);
      await ledger.tasks.unblock({ taskId });
      return [first, await desk.claimAndBlock(taskId)];
    },
    task: async (taskId) => {
      const task = await ledger.tasks.get(taskId);
      if (task === null) throw new Error(`no task ${taskId}`);
      return task;
    },
    row: async (taskId) => {
      const loaded = await ledger.rows.load(taskId);
      if (loaded === null) throw new Error(`no row ${taskId}`);
      return { ...loaded.row.value };
    },
    events: eventsOf,
    everything: async () => {
      const rows = await collect(ledger.rows.list({}));
      const tasks = await Promise.all(rows.map(({ row }) => ledger.tasks.get(row.task_id)));
      const events = await collect(ledger.read());
      return JSON.stringify({
        events: events.map((item) => item.text),
        rows: rows.map(({ row, version }) => [version, [...row.raw]]),
        tasks,
        leases: await ledger.leases.running(),
      });
    },
  };
  return desk;
}

/** What a holder shows with each of its writes. */
type Held = Pick<Claimed, 'run_id' | 'fence'>;

/** Opens a desk with the task `t-1`, assigned, and a word for how a worker on it ends. */
export async function openDeskWithTask(kind: StoreKind, more: { readonly maxRetries?: number } = {}) {
  const desk = await openDesk(kind);
  await desk.ledger.tasks.create({ taskId: 't-1', title: 'work', assignee: 'worker', ...more });
  const exit = async (run: Held, how: WorkerExit) => desk.ledger.runs.exited({ ...heldBy(run), exit: how });
  return { desk, ledger: desk.ledger, exit };
}

/** The arguments that bind a write to a run of `t-1`. */
export function heldBy(run: Held): {
  readonly taskId: string;
  readonly runId: string;
  readonly fence: number;
} {
  return { taskId: 't-1', runId: run.run_id, fence: run.fence };
}

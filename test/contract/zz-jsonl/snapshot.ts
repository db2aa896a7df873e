import type { Head, JsonValue, Ledger } from '@custody/ledger';
import { compareCodePoints } from '@custody/ledger';
import { collect } from '../../support/collect.ts';

/** Everything that a ledger tells, as plain JSON: two ledgers with equal snapshots can't be told apart. */
export interface Snapshot {
  readonly head: Pick<Head, 'seq' | 'hash' | 'epoch'>;
  readonly lines: readonly string[];
  readonly custody: JsonValue;
  readonly rows: readonly (readonly [string, string])[];
  readonly stale: readonly string[];
}

/** Reads all that a ledger knows of its events, its debts and its rows. */
export async function snapshotOf(ledger: Ledger): Promise<Snapshot> {
  const events = await collect(ledger.read());
  const { seq, hash, epoch } = await ledger.head();
  const rows = await collect(ledger.rows.list({}));
  return {
    head: { seq, hash, epoch },
    lines: events.map((item) => `${item.text} ${item.event.hash}`),
    custody: await custodyOf(
      ledger,
      events.map((item) => item.event),
    ),
    rows: rows.map(({ row, version }) => [version, JSON.stringify([...row.raw])]),
    stale: await ledger.rows.selectStale(),
  };
}

/** What the log says now, by every question that a reader can ask. */
async function custodyOf(
  ledger: Ledger,
  events: readonly { readonly [key: string]: unknown }[],
): Promise<JsonValue> {
  const { custody } = ledger;
  const idsOf = (key: string) =>
    [...new Set(events.map((event) => event[key]).filter((id) => typeof id === 'string'))].sort(
      compareCodePoints,
    );
  const tasks = await custody.tasks(idsOf('task_id'));
  const answers = {
    tasks: [...tasks].map(([id, task]) => [
      id,
      {
        ...task,
        evidence: sortedBy(task.evidence, (item) => item.run_id),
        foreign_runs: sortedBy(task.foreign_runs, (run) => run.run_id),
      },
    ]),
    runs: await Promise.all(idsOf('run_id').map((id) => custody.run(id))),
    invocations: await Promise.all(idsOf('invocation_id').map((id) => custody.invocation(id))),
    open: await custody.openRuns(),
    pending: await custody.pendingInvocations(),
    owing: await custody.owingTaskIds(),
    faults: await custody.openFaults(),
    totals: await custody.totals(),
    readable: await custody.isReadable(),
  };
  return JSON.parse(JSON.stringify(answers)) as JsonValue;
}

function sortedBy<T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] {
  return [...items].sort((a, b) => compareCodePoints(keyOf(a), keyOf(b)));
}

import { sql } from 'kysely';
import type { InvocationRecord } from '../../core/invocation.ts';
import { compareCodePoints } from '../../core/json.ts';
import type { TaskCustody } from '../../core/obligations.ts';
import { emptyTaskFacts } from '../../core/run-evidence.ts';
import type { RunRecord } from '../../core/run-record.ts';
import type { CustodyDebts, CustodyReader, CustodyTotals } from '../../ports/custody-reader.ts';
import { gather } from './gather.ts';
import { keyedQuery } from './kept-query.ts';
import { ofLedger } from './of-ledger.ts';
import { parseEvidence, parseFacts, parseRecord, parseRun } from './records.ts';
import type { Db, SqlContext } from './tables.ts';

/** Reads current debts by key; a task costs the same whatever the history. */
export function sqlCustodyReader(context: SqlContext): CustodyReader {
  const { reader, ledger } = context;
  return {
    // A database that can't be read throws; there is no half-readable state here.
    isReadable: async () => true,
    tasks: (taskIds) => reader.transaction().execute((db) => readTaskCustodies(db, context, taskIds)),
    run: async (runId) => {
      const row = await reader
        .selectFrom('run')
        .select('record')
        .where('ledger', '=', ledger)
        .where('run_id', '=', runId)
        .executeTakeFirst();
      return row === undefined ? null : parseRun(row.record);
    },
    invocation: async (id) => {
      const row = await reader
        .selectFrom('invocation')
        .select('record')
        .where('ledger', '=', ledger)
        .where('invocation_id', '=', id)
        .executeTakeFirst();
      return row === undefined ? null : parseRecord<InvocationRecord>(row.record);
    },
    openRuns: async () => {
      const rows = await reader
        .selectFrom('run')
        .select('record')
        .where('ledger', '=', ledger)
        .where('is_open', '=', sql.lit(1))
        .orderBy('first_seq')
        .execute();
      return rows.map((row) => parseRun(row.record));
    },
    pendingInvocations: async () => {
      const rows = await reader
        .selectFrom('invocation')
        .select('record')
        .where('ledger', '=', ledger)
        .where('is_pending', '=', sql.lit(1))
        .orderBy('first_seq')
        .execute();
      return rows.map((row) => parseRecord<InvocationRecord>(row.record));
    },
    owingTaskIds: () => readOwingTaskIds(context),
    openFaults: async () => {
      const rows = await reader
        .selectFrom('containment')
        .select('record')
        .where('ledger', '=', ledger)
        .where('is_open', '=', sql.lit(1))
        .orderBy('run_id')
        .execute();
      return rows.map((row) => parseRecord(row.record));
    },
    debts: () => reader.transaction().execute((db) => readDebts(db, context)),
    totals: () => reader.transaction().execute((db) => readTotals(db, context)),
  };
}

const FACTS = keyedQuery((db, isKey) =>
  db
    .selectFrom('task_facts')
    .select(['task_id', 'last_seq', 'record'])
    .where('ledger', '=', '')
    .where(isKey('task_id')),
);

const RUNS = keyedQuery((db, isKey) =>
  db
    .selectFrom('run')
    .select(['task_id', 'record'])
    .where('ledger', '=', '')
    .where(isKey('task_id'))
    .orderBy('task_id')
    .orderBy('first_seq'),
);

const INVOCATIONS = keyedQuery((db, isKey) =>
  db
    .selectFrom('invocation')
    .select(['task_id', 'record'])
    .where('ledger', '=', '')
    .where(isKey('task_id'))
    .orderBy('task_id')
    .orderBy('first_seq'),
);

const EVIDENCE = keyedQuery((db, isKey) =>
  db
    .selectFrom('run_evidence')
    .select(['task_id', 'run_id', 'record'])
    .where('ledger', '=', '')
    .where(isKey('task_id')),
);

/** Runs that the tasks' rows speak of and that belong to another task. */
const FOREIGN_RUNS = keyedQuery((db, isKey) =>
  db
    .selectFrom('run_evidence')
    .innerJoin('run', (join) =>
      join.onRef('run.ledger', '=', 'run_evidence.ledger').onRef('run.run_id', '=', 'run_evidence.run_id'),
    )
    .select(['run.run_id', 'run.record'])
    .where('run_evidence.ledger', '=', '')
    .where(isKey('run_evidence.task_id' as never))
    .whereRef('run.task_id', '!=', 'run_evidence.task_id'),
);

/** Everything known of the tasks, of the moment that the transaction sees. */
export async function readTaskCustodies(
  db: Db,
  context: SqlContext,
  taskIds: readonly string[],
): Promise<ReadonlyMap<string, TaskCustody>> {
  const { flags } = context;
  const [facts, runs, invocations, evidence, foreign] = await gather(flags, [
    () => FACTS(db, context, taskIds),
    () => RUNS(db, context, taskIds),
    () => INVOCATIONS(db, context, taskIds),
    () => EVIDENCE(db, context, taskIds),
    () => readForeignRuns(db, context, taskIds),
  ]);

  const factsOf = new Map(facts.map((row) => [row.task_id, parseFacts(row)]));
  const runsOf = group(runs, (row) => parseRun(row.record));
  const invocationsOf = group(invocations, (row) => parseRecord<InvocationRecord>(row.record));
  const evidenceOf = group(evidence, parseEvidence);
  return new Map(
    taskIds.map((id): [string, TaskCustody] => {
      const items = evidenceOf.get(id) ?? [];
      return [
        id,
        {
          task_id: id,
          runs: (runsOf.get(id) ?? []).filter((run) => run.started),
          invocations: (invocationsOf.get(id) ?? []).filter((item) => item.requested),
          evidence: items,
          // Foreign to one of the tasks that were asked for; to its owner the run is its own.
          foreign_runs: items
            .flatMap((item) => foreign.get(item.run_id) ?? [])
            .filter((run) => run.task_id !== id),
          facts: factsOf.get(id) ?? emptyTaskFacts(id),
        },
      ];
    }),
  );
}

async function readForeignRuns(
  db: Db,
  context: SqlContext,
  taskIds: readonly string[],
): Promise<Map<string, RunRecord>> {
  const rows = await FOREIGN_RUNS(db, context, taskIds);
  return new Map(rows.map((row) => [row.run_id, parseRun(row.record)]));
}

function group<T, Row extends { readonly task_id: string }>(
  rows: readonly Row[],
  parse: (row: Row) => T,
): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const known = groups.get(row.task_id);
    const record = parse(row);
    if (known === undefined) groups.set(row.task_id, [record]);
    else known.push(record);
  }
  return groups;
}

/** Not `distinct` in SQL: for that, SQLite would walk all tasks in their order and not those alone that owe. */
async function readOwingTaskIds(context: SqlContext): Promise<readonly string[]> {
  const { reader } = context;
  const runs = await reader
    .selectFrom('run')
    .select('task_id')
    .where(ofLedger(context))
    .where('owed_at', 'is not', null)
    .execute();
  const invocations = await reader
    .selectFrom('invocation')
    .select('task_id')
    .where(ofLedger(context))
    .where('is_owed', '=', sql.lit(1))
    .execute();
  return [...new Set([...runs, ...invocations].map((row) => row.task_id))]
    .filter((id) => id !== '')
    .sort(compareCodePoints);
}

async function readTotals(db: Db, context: SqlContext): Promise<CustodyTotals> {
  const head = await db
    .selectFrom('ledger_head')
    .select('seq')
    .where('ledger', '=', context.ledger)
    .executeTakeFirstOrThrow();
  const runs = await db
    .selectFrom('run')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(ofLedger(context))
    // A text is never less than the empty one: it lets the index by task answer alone.
    .where('task_id', '>=', '')
    .where('first_seq', '>', 0)
    .executeTakeFirstOrThrow();
  return { events: Number(head.seq), runs: Number(runs.count), ...(await readDebts(db, context)) };
}

async function readDebts(db: Db, context: SqlContext): Promise<CustodyDebts> {
  const owed = await db
    .selectFrom('run')
    .select(({ fn }) => [
      fn.sum<number | null>('owes_run').as('open'),
      fn.sum<number | null>('owes_patch').as('patches'),
      fn.min('owed_at').as('since'),
    ])
    .where(ofLedger(context))
    .where('owed_at', 'is not', null)
    .executeTakeFirstOrThrow();
  const pending = await db
    .selectFrom('invocation')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('requested_at').as('since')])
    .where(ofLedger(context))
    .where('is_owed', '=', sql.lit(1))
    .executeTakeFirstOrThrow();
  const since = [owed.since, pending.since]
    .filter((time): time is string => time !== null)
    .sort(compareCodePoints);
  return {
    open_runs: Number(owed.open ?? 0),
    pending_invocations: Number(pending.count),
    undisposed_patches: Number(owed.patches ?? 0),
    oldest_unreconciled_at: since[0] ?? null,
  };
}

import { sql } from 'kysely';
import type { UnplacedEvent } from '../../core/custody-fold.ts';
import { CustodyFold, foldKeys, projectKeys } from '../../core/custody-fold.ts';
import { writeRows } from './bulk-write.ts';
import { gather } from './gather.ts';
import { keyedQuery } from './kept-query.ts';
import { isOneOf } from './key-list.ts';
import {
  parseEvidence,
  parseFacts,
  parseRecord,
  parseRun,
  toContainmentRow,
  toEvidenceRow,
  toFactsRow,
  toInvocationRow,
  toRunRow,
} from './records.ts';
import type { Db, SqlContext } from './tables.ts';

const RUNS = keyedQuery((db, isKey) =>
  db.selectFrom('run').select('record').where('ledger', '=', '').where(isKey('run_id')),
);

const RUNS_OF_PROJECTS = keyedQuery((db, isKey) =>
  db
    .selectFrom('run')
    .select(['run_id', 'record'])
    .where('ledger', '=', '')
    .where('project_owned', '=', sql.lit(1))
    .where(isKey('project_id')),
);

const INVOCATIONS = keyedQuery((db, isKey) =>
  db
    .selectFrom('invocation')
    .select(['invocation_id', 'record'])
    .where('ledger', '=', '')
    .where(isKey('invocation_id')),
);

const EVIDENCE = keyedQuery((db, isKey) =>
  db
    .selectFrom('run_evidence')
    .select(['task_id', 'run_id', 'record'])
    .where('ledger', '=', '')
    .where(isKey('run_id')),
);

const TASK_FACTS = keyedQuery((db, isKey) =>
  db
    .selectFrom('task_facts')
    .select(['task_id', 'last_seq', 'record'])
    .where('ledger', '=', '')
    .where(isKey('task_id')),
);

const CONTAINMENT = keyedQuery((db, isKey) =>
  db.selectFrom('containment').select(['run_id', 'record']).where('ledger', '=', '').where(isKey('run_id')),
);

/** Loads the records that a batch may read or change. */
export async function loadFold(
  db: Db,
  context: SqlContext,
  events: readonly UnplacedEvent[],
): Promise<CustodyFold> {
  const fold = new CustodyFold();
  const keys = foldKeys(events);
  const runIds = [...keys.runIds];
  const [facts, runs, invocations, evidence, containment] = await gather(context.flags, [
    () => TASK_FACTS(db, context, [...keys.taskIds]),
    () => RUNS(db, context, runIds),
    () => INVOCATIONS(db, context, [...keys.invocationIds]),
    // What every task's rows say of the runs: a start can change whose evidence they count in.
    () => EVIDENCE(db, context, runIds),
    () => CONTAINMENT(db, context, runIds),
  ]);
  for (const row of runs) fold.loadRun(parseRun(row.record));
  const projects = projectKeys(events, fold);
  for (const row of await RUNS_OF_PROJECTS(db, context, [...projects]))
    if (!fold.runs.has(row.run_id)) fold.loadRun(parseRun(row.record));
  for (const row of invocations) fold.invocations.set(row.invocation_id, parseRecord(row.record));
  for (const row of evidence) fold.evidence.set(parseEvidence(row));
  for (const row of containment) fold.containment.set(row.run_id, parseRecord(row.record));
  const owners = ownersIn(fold).filter((id) => !keys.taskIds.has(id));
  for (const row of [...facts, ...(await TASK_FACTS(db, context, owners))])
    fold.tasks.set(row.task_id, parseFacts(row));
  return fold;
}

/** Whose tasks a batch may touch beside its own: the owners of the runs and invocations that it names, and who counts them. */
function ownersIn(fold: CustodyFold): readonly string[] {
  const owners = new Set<string>();
  for (const records of [fold.runs, fold.invocations, fold.evidence])
    for (const record of records.values()) if (record.task_id !== '') owners.add(record.task_id);
  return [...owners];
}

/** Writes back what the fold changed, and marks the rows of the touched tasks for the next look. */
export async function saveFold(db: Db, context: SqlContext, fold: CustodyFold): Promise<void> {
  const { ledger } = context;
  const { changed } = fold;
  await gather(context.flags, [
    () =>
      writeRows(db, context, {
        table: 'run',
        key: ['run_id'],
        rows: recordsOf(fold.runs, changed.runs).map((run) => toRunRow(ledger, run)),
      }),
    () =>
      writeRows(db, context, {
        table: 'invocation',
        key: ['invocation_id'],
        rows: recordsOf(fold.invocations, changed.invocations).map((item) => toInvocationRow(ledger, item)),
      }),
    () =>
      writeRows(db, context, {
        table: 'run_evidence',
        key: ['task_id', 'run_id'],
        rows: [...changed.evidence.values()].map((item) => toEvidenceRow(ledger, item)),
      }),
    () =>
      writeRows(db, context, {
        table: 'task_facts',
        key: ['task_id'],
        rows: recordsOf(fold.tasks, changed.tasks).map((item) => toFactsRow(ledger, item)),
      }),
    () =>
      writeRows(db, context, {
        table: 'containment',
        key: ['run_id'],
        rows: recordsOf(fold.containment, changed.containment).map((item) => toContainmentRow(ledger, item)),
      }),
    () => markRows(db, context, [...changed.tasks]),
  ]);
}

const CONFIRMED_ROWS = keyedQuery((db, isKey) =>
  db
    .selectFrom('task_row')
    .select('task_id')
    .where('ledger', '=', '')
    .where('needs_check', '=', sql.lit(0))
    .where(isKey('task_id')),
);

/** Lets the next selection look at the rows of these tasks. */
async function markRows(
  db: Db,
  context: Pick<SqlContext, 'ledger' | 'flags'>,
  taskIds: readonly string[],
): Promise<void> {
  // Asked first: an update that finds nothing still costs several times what the question does.
  const confirmed = await CONFIRMED_ROWS(db, context, taskIds);
  if (confirmed.length === 0) return;
  const ids = confirmed.map((row) => row.task_id);
  await db
    .updateTable('task_row')
    .set({ needs_check: 1 })
    .where('ledger', '=', context.ledger)
    .where(isOneOf('task_id', ids, context.flags))
    .execute();
}

function recordsOf<T>(records: ReadonlyMap<string, T>, keys: ReadonlySet<string>): T[] {
  return [...keys].flatMap((key) => records.get(key) ?? []);
}

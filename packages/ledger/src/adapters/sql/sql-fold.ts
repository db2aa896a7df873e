import type { UnplacedEvent } from '../../core/custody-fold.ts';
import { CustodyFold, foldKeys, projectKeys } from '../../core/custody-fold.ts';
import { writeRows } from './bulk-write.ts';
import { isOneOf } from './key-list.ts';
import { parseRecord, parseRun, toContainmentRow, toInvocationRow, toRunRow } from './records.ts';
import type { Db, SqlContext } from './tables.ts';

/** Loads the records that a batch may read or change. */
export async function loadFold(
  db: Db,
  context: SqlContext,
  events: readonly UnplacedEvent[],
): Promise<CustodyFold> {
  const fold = new CustodyFold();
  const keys = foldKeys(events);
  await loadRuns(db, context, { fold, runIds: [...keys.runIds] });
  const projects = projectKeys(events, fold);
  if (projects.size > 0) await loadProjectRuns(db, context, { fold, projects: [...projects] });
  await loadInvocations(db, context, { fold, ids: [...keys.invocationIds] });
  await loadEvidence(db, context, { fold, runIds: [...keys.runIds] });
  await loadTaskFacts(db, context, { fold, taskIds: [...keys.taskIds] });
  await loadContainment(db, context, { fold, runIds: [...keys.runIds] });
  return fold;
}

async function loadRuns(
  db: Db,
  context: SqlContext,
  { fold, runIds }: { fold: CustodyFold; runIds: readonly string[] },
): Promise<void> {
  if (runIds.length === 0) return;
  const rows = await db
    .selectFrom('run')
    .select('record')
    .where('ledger', '=', context.ledger)
    .where(isOneOf('run_id', runIds, context.flags))
    .execute();
  for (const row of rows) fold.loadRun(parseRun(row.record));
}

async function loadProjectRuns(
  db: Db,
  context: SqlContext,
  { fold, projects }: { fold: CustodyFold; projects: readonly string[] },
): Promise<void> {
  const rows = await db
    .selectFrom('run')
    .select(['run_id', 'record'])
    .where('ledger', '=', context.ledger)
    .where('project_owned', '=', 1)
    .where(isOneOf('project_id', projects, context.flags))
    .execute();
  for (const row of rows) if (!fold.runs.has(row.run_id)) fold.loadRun(parseRun(row.record));
}

/** Of whatever the batch may touch: its own tasks, the owners of the runs and invocations that it names, and who counts them. */
async function loadTaskFacts(
  db: Db,
  context: SqlContext,
  { fold, taskIds }: { fold: CustodyFold; taskIds: readonly string[] },
): Promise<void> {
  const named = [...fold.runs.values(), ...fold.invocations.values(), ...fold.evidence.values()].map(
    (record) => record.task_id,
  );
  const owners = [...new Set([...taskIds, ...named])];
  const facts = await db
    .selectFrom('task_facts')
    .select(['task_id', 'record'])
    .where('ledger', '=', context.ledger)
    .where(isOneOf('task_id', owners, context.flags))
    .execute();
  for (const row of facts) fold.tasks.set(row.task_id, parseRecord(row.record));
}

/** What every task's rows say of the runs: a start can change whose evidence they count in. */
async function loadEvidence(
  db: Db,
  context: SqlContext,
  { fold, runIds }: { fold: CustodyFold; runIds: readonly string[] },
): Promise<void> {
  if (runIds.length === 0) return;
  const evidence = await db
    .selectFrom('run_evidence')
    .select('record')
    .where('ledger', '=', context.ledger)
    .where(isOneOf('run_id', runIds, context.flags))
    .execute();
  for (const row of evidence) fold.loadEvidence(parseRecord(row.record));
}

async function loadInvocations(
  db: Db,
  context: SqlContext,
  { fold, ids }: { fold: CustodyFold; ids: readonly string[] },
): Promise<void> {
  if (ids.length === 0) return;
  const rows = await db
    .selectFrom('invocation')
    .select(['invocation_id', 'record'])
    .where('ledger', '=', context.ledger)
    .where(isOneOf('invocation_id', ids, context.flags))
    .execute();
  for (const row of rows) fold.invocations.set(row.invocation_id, parseRecord(row.record));
}

async function loadContainment(
  db: Db,
  context: SqlContext,
  { fold, runIds }: { fold: CustodyFold; runIds: readonly string[] },
): Promise<void> {
  if (runIds.length === 0) return;
  const rows = await db
    .selectFrom('containment')
    .select(['run_id', 'record'])
    .where('ledger', '=', context.ledger)
    .where(isOneOf('run_id', runIds, context.flags))
    .execute();
  for (const row of rows) fold.containment.set(row.run_id, parseRecord(row.record));
}

/** Writes back what the fold changed, and marks the rows of the touched tasks for the next look. */
export async function saveFold(db: Db, context: SqlContext, fold: CustodyFold): Promise<void> {
  const { ledger, flags } = context;
  const { changed } = fold;
  await writeRows(db, context, {
    table: 'run',
    key: ['ledger', 'run_id'],
    rows: recordsOf(fold.runs, changed.runs).map((run) => toRunRow(ledger, run)),
  });
  await writeRows(db, context, {
    table: 'invocation',
    key: ['ledger', 'invocation_id'],
    rows: recordsOf(fold.invocations, changed.invocations).map((item) => toInvocationRow(ledger, item)),
  });
  await writeRows(db, context, {
    table: 'run_evidence',
    key: ['ledger', 'task_id', 'run_id'],
    rows: recordsOf(fold.evidence, changed.evidence).map((item) => ({
      ledger,
      task_id: item.task_id,
      run_id: item.run_id,
      record: JSON.stringify(item),
    })),
  });
  await writeRows(db, context, {
    table: 'task_facts',
    key: ['ledger', 'task_id'],
    rows: recordsOf(fold.tasks, changed.tasks).map((item) => ({
      ledger,
      task_id: item.task_id,
      last_seq: item.last_seq,
      record: JSON.stringify(item),
    })),
  });
  await writeRows(db, context, {
    table: 'containment',
    key: ['ledger', 'run_id'],
    rows: recordsOf(fold.containment, changed.containment).map((item) => toContainmentRow(ledger, item)),
  });
  await markRows(db, { ledger, flags }, [...changed.tasks]);
}

/** Lets the next selection look at the rows of these tasks. */
async function markRows(
  db: Db,
  { ledger, flags }: Pick<SqlContext, 'ledger' | 'flags'>,
  taskIds: readonly string[],
): Promise<void> {
  if (taskIds.length === 0) return;
  // Asked first: an update that finds nothing still costs several times what the question does.
  const confirmed = await db
    .selectFrom('task_row')
    .select('task_id')
    .where('ledger', '=', ledger)
    .where('needs_check', '=', 0)
    .where(isOneOf('task_id', taskIds, flags))
    .execute();
  if (confirmed.length === 0) return;
  const ids = confirmed.map((row) => row.task_id);
  await db
    .updateTable('task_row')
    .set({ needs_check: 1 })
    .where('ledger', '=', ledger)
    .where(isOneOf('task_id', ids, flags))
    .execute();
}

function recordsOf<T>(records: ReadonlyMap<string, T>, keys: ReadonlySet<string>): T[] {
  return [...keys].flatMap((key) => records.get(key) ?? []);
}

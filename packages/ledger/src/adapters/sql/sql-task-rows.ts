import { sql } from 'kysely';
import { compareCodePoints } from '../../core/json.ts';
import { MANAGED_KEYS } from '../../core/managed/managed-row.ts';
import { MANAGED_MARK } from '../../core/managed/row-document.ts';
import type { RowParts, TaskRow } from '../../core/task-row.ts';
import {
  isTerminalStatus,
  joinRow,
  mergeRow,
  NO_KEYS,
  splitRow,
  withLiveFields,
} from '../../core/task-row.ts';
import { BusyError, InvalidEventError, StaleEpochError } from '../../errors.ts';
import type { NewId } from '../../ports/clock.ts';
import type {
  ConfirmedRow,
  LoadedRow,
  OwnTaskRows,
  RowPutResult,
  RowUpdate,
  RowUpdateResult,
} from '../../ports/task-rows.ts';
import { isOneOf } from './key-list.ts';
import { appendInTransaction } from './sql-event-store.ts';
import type { Db, SqlContext } from './tables.ts';
import type { WritableContext, WriteTurn } from './write-transaction.ts';
import { inWriteTransaction } from './write-transaction.ts';

const PAGE = 500;

/** Rows in a table: frozen and live parts apart, row and evidence in one transaction. */
export function sqlTaskRows(context: WritableContext, newId: NewId): OwnTaskRows {
  const { reader, ledger } = context;
  return {
    load: (taskId) => loadRow(reader, ledger, taskId),
    loadMany: (taskIds) => loadRows(reader, context, taskIds),
    selectStale: async () => {
      const rows = await reader
        .selectFrom('task_row')
        .select('task_id')
        .where('ledger', '=', ledger)
        .where('needs_check', '=', sql.lit(1))
        .where('is_terminal', '=', sql.lit(1))
        .orderBy('task_id')
        .execute();
      return rows.map((row) => row.task_id).sort(compareCodePoints);
    },
    update: (updates) => updateRows(context, newId, updates),
    confirm: (rows) => inWriteTransaction(context, ({ db }) => confirmRows(db, ledger, rows)),
    count: async () => {
      const row = await reader
        .selectFrom('task_row')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('ledger', '=', ledger)
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },
    put: (rows) =>
      inWriteTransaction(context, async ({ db, now }) => {
        const results: RowPutResult[] = [];
        for (const row of rows)
          results.push(await putRow(db, { ledger, now: new Date(now).toISOString() }, row));
        return results;
      }),
    list: (query) => listRows(context, query),
  };
}

async function loadRow(db: Db, ledger: string, taskId: string): Promise<LoadedRow | null> {
  const row = await db
    .selectFrom('task_row')
    .select(['task_id', 'version', 'frozen', 'added', 'live'])
    .where('ledger', '=', ledger)
    .where('task_id', '=', taskId)
    .executeTakeFirst();
  return row === undefined ? null : toLoaded(row);
}

async function loadRows(
  db: Db,
  { ledger, flags }: SqlContext,
  taskIds: readonly string[],
): Promise<Map<string, LoadedRow>> {
  const rows = await readParts(db, { ledger, flags }, taskIds);
  return new Map(rows.map((row) => [row.task_id, toLoaded(row)]));
}

function readParts(
  db: Db,
  { ledger, flags }: Pick<SqlContext, 'ledger' | 'flags'>,
  taskIds: readonly string[],
) {
  return db
    .selectFrom('task_row')
    .select(['task_id', 'version', 'frozen', 'added', 'live'])
    .where('ledger', '=', ledger)
    .where(isOneOf('task_id', taskIds, flags))
    .execute();
}

function toLoaded(row: RowParts & { readonly task_id: string; readonly version: number }): LoadedRow {
  return { row: joinRow(row, row.task_id), version: String(row.version) };
}

/** One transaction for all; if it fails, each alone, so that one bad row never stops the others. */
async function updateRows(
  context: WritableContext,
  newId: NewId,
  updates: readonly RowUpdate[],
): Promise<readonly RowUpdateResult[]> {
  try {
    return await inWriteTransaction(context, (turn) => updateAll(turn, context, { newId, updates }));
  } catch (error) {
    if (error instanceof StaleEpochError) throw error;
    // One by one would take as many times as long where the store is busy.
    if (updates.length === 1 || error instanceof BusyError)
      return updates.map(() => ({
        outcome: 'failed',
        error: error instanceof Error ? error : new Error(String(error)),
      }));
    const results: RowUpdateResult[] = [];
    for (const update of updates) results.push(...(await updateRows(context, newId, [update])));
    return results;
  }
}

async function updateAll(
  turn: WriteTurn,
  context: SqlContext,
  { newId, updates }: { readonly newId: NewId; readonly updates: readonly RowUpdate[] },
): Promise<readonly RowUpdateResult[]> {
  const { db } = turn;
  const ids = updates.map((update) => update.task_id);
  const stored = new Map((await readParts(db, context, ids)).map((row) => [row.task_id, row]));
  const facts = await db
    .selectFrom('task_facts')
    .select(['task_id', 'last_seq'])
    .where('ledger', '=', context.ledger)
    .where(isOneOf('task_id', ids, context.flags))
    .execute();
  const lastSeq = new Map(facts.map((row) => [row.task_id, row.last_seq]));
  const results: RowUpdateResult[] = [];
  const written: RowUpdate[] = [];
  for (const update of updates) {
    const row = stored.get(update.task_id);
    const outcome = guard(update, row, lastSeq.get(update.task_id) ?? 0);
    results.push(outcome);
    if (row === undefined || outcome.outcome !== 'updated') continue;
    written.push(update);
    // A second update of the same row in one request is judged by what the first one left.
    stored.set(update.task_id, await writeLive(db, context.ledger, { update, row }));
  }
  if (written.length === 0) return results;
  const outcomes = await appendInTransaction(turn, context, {
    requests: [{ events: written.map((update) => update.evidence) }],
    newId,
  });
  for (const outcome of outcomes) if (outcome instanceof InvalidEventError) throw outcome;
  return results;
}

type StoredRow = RowParts & { readonly task_id: string; readonly version: number };

/** The compare of the compare-and-set; the transaction holds the write lock, so nothing comes in between. */
function guard(update: RowUpdate, row: StoredRow | undefined, lastSeq: number): RowUpdateResult {
  if (row === undefined) return { outcome: 'gone' };
  if (String(row.version) !== update.expected_version || lastSeq !== update.custody_seq)
    return { outcome: 'changed_meanwhile' };
  return { outcome: 'updated', evidence: 'recorded' };
}

async function writeLive(
  db: Db,
  ledger: string,
  { update, row }: { readonly update: RowUpdate; readonly row: StoredRow },
): Promise<StoredRow> {
  const { live } = splitRow(withLiveFields(joinRow(row, update.task_id), update.live), row);
  const version = row.version + 1;
  await db
    .updateTable('task_row')
    .set({ live, version, needs_check: Number(!update.confirms) })
    .where('ledger', '=', ledger)
    .where('task_id', '=', update.task_id)
    .execute();
  return { ...row, live, version };
}

async function confirmRows(db: Db, ledger: string, rows: readonly ConfirmedRow[]): Promise<void> {
  for (const { task_id, version, custody_seq } of rows) {
    await db
      .updateTable('task_row')
      .set({ needs_check: 0 })
      .where('ledger', '=', ledger)
      .where('task_id', '=', task_id)
      .where('version', '=', Number(version))
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('task_facts')
              .select('task_id')
              .where('task_facts.ledger', '=', ledger)
              .where('task_facts.task_id', '=', task_id)
              .where('last_seq', '!=', custody_seq),
          ),
        ),
      )
      .execute();
  }
}

async function putRow(
  db: Db,
  { ledger, now }: { readonly ledger: string; readonly now: string },
  row: TaskRow,
): Promise<RowPutResult> {
  const stored = await db
    .selectFrom('task_row')
    .select(['task_id', 'version', 'frozen', 'added', 'live', 'is_terminal'])
    .where('ledger', '=', ledger)
    .where('task_id', '=', row.task_id)
    .executeTakeFirst();
  const existing = stored === undefined ? null : joinRow(stored, row.task_id);
  const merge = mergeRow(existing, row, now, await ownedKeys(db, ledger, existing));
  if (merge.outcome === 'refused')
    return { outcome: 'refused', reason: 'row_frozen', task_id: row.task_id, fields: merge.fields };
  if (merge.outcome === 'unchanged') return { outcome: 'unchanged', task_id: row.task_id };
  const parts = splitRow(merge.row, stored?.is_terminal === 1 ? stored : null);
  const values = {
    status: merge.row.status,
    is_terminal: Number(isTerminalStatus(merge.row.status)),
    needs_check: 1,
    ...parts,
  };
  if (stored === undefined) {
    await db
      .insertInto('task_row')
      .values({ ledger, task_id: row.task_id, version: 1, ...values })
      .execute();
  } else {
    await db
      .updateTable('task_row')
      .set({ version: stored.version + 1, ...values })
      .where('ledger', '=', ledger)
      .where('task_id', '=', row.task_id)
      .execute();
  }
  return { outcome: 'written', task_id: row.task_id };
}

/** The fields that only commands write; none on rows that are not ours. */
async function ownedKeys(db: Db, ledger: string, existing: TaskRow | null): Promise<ReadonlySet<string>> {
  if (existing?.value[MANAGED_MARK] !== true) return NO_KEYS;
  const task = await db
    .selectFrom('managed_task')
    .select('task_id')
    .where('ledger', '=', ledger)
    .where('task_id', '=', existing.task_id)
    .executeTakeFirst();
  return task === undefined ? NO_KEYS : MANAGED_KEYS;
}

async function* listRows(
  { reader, ledger }: SqlContext,
  query: { readonly status?: string },
): AsyncGenerator<LoadedRow, void> {
  let after = '';
  for (;;) {
    let page = reader
      .selectFrom('task_row')
      .select(['task_id', 'version', 'frozen', 'added', 'live'])
      .where('ledger', '=', ledger)
      .where('task_id', '>', after)
      .orderBy('task_id')
      .limit(PAGE);
    if (query.status !== undefined) page = page.where('status', '=', query.status);
    const rows = await page.execute();
    for (const row of rows) yield toLoaded(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last.task_id;
  }
}

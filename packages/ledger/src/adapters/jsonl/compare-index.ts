import { sql } from 'kysely';
import type { VerifyProblem } from '../../ports/ledger-store.ts';
import { isSameRecord } from '../sql/sql-rebuild.ts';
import type { SqlContext, Tables } from '../sql/tables.ts';

/** The tables that follow from the log, by their keys within a ledger. */
const COMPARED = {
  event: ['seq'],
  run: ['run_id'],
  invocation: ['invocation_id'],
  run_evidence: ['task_id', 'run_id'],
  task_facts: ['task_id'],
  containment: ['run_id'],
} as const satisfies Partial<Record<keyof Tables, readonly string[]>>;

const PAGE = 1000;

/** More differences say nothing new. */
const MAX_PROBLEMS = 50;

type Row = Readonly<Record<string, unknown>>;

/** Compares every table of an index with a replay of the log, row by row, without holding either in memory. */
export async function compareIndexes(
  index: SqlContext,
  replay: SqlContext,
): Promise<readonly VerifyProblem[]> {
  const problems: VerifyProblem[] = [];
  for (const [table, keys] of Object.entries(COMPARED)) {
    await compareTable(
      { table, keys, problems },
      readRows(index, table, keys),
      readRows(replay, table, keys),
    );
    if (problems.length >= MAX_PROBLEMS) return problems.slice(0, MAX_PROBLEMS);
  }
  return problems;
}

interface Comparison {
  readonly table: string;
  readonly keys: readonly string[];
  readonly problems: VerifyProblem[];
}

/** Walks both in the order of their keys. */
async function compareTable(
  comparison: Comparison,
  stored: AsyncGenerator<Row, void>,
  expected: AsyncGenerator<Row, void>,
): Promise<void> {
  let [left, right] = [await next(stored), await next(expected)];
  while ((left !== null || right !== null) && comparison.problems.length < MAX_PROBLEMS) {
    const order = compareKeys(left, right, comparison.keys);
    if (order === 0 && left !== null && right !== null && !isSameRow(comparison.table, left, right))
      report(comparison, 'table_mismatch', left);
    if (order < 0) report(comparison, 'table_extra_row', left);
    if (order > 0) report(comparison, 'table_missing_row', right);
    if (order <= 0) left = await next(stored);
    if (order >= 0) right = await next(expected);
  }
}

async function next(rows: AsyncGenerator<Row, void>): Promise<Row | null> {
  const step = await rows.next();
  return step.done === true ? null : step.value;
}

/** As SQLite orders them; the end of a table stands behind every key. */
function compareKeys(left: Row | null, right: Row | null, keys: readonly string[]): number {
  if (left === null || right === null) return left === null ? 1 : -1;
  for (const key of keys) {
    const order = compareValues(left[key], right[key]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareValues(left: unknown, right: unknown): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return Buffer.compare(Buffer.from(String(left)), Buffer.from(String(right)));
}

function isSameRow(table: string, left: Row, right: Row): boolean {
  return Object.keys({ ...left, ...right }).every((column) =>
    column === 'record' ? isSameRecord(table, left, right) : left[column] === right[column],
  );
}

const WORDS = {
  table_mismatch: 'differs from a replay of the log',
  table_extra_row: 'is in the index and not in the log',
  table_missing_row: 'is in the log and not in the index',
} as const;

function report({ table, keys, problems }: Comparison, code: keyof typeof WORDS, row: Row | null): void {
  problems.push({
    code,
    message: `${table} ${keys.map((key) => String(row?.[key])).join(' / ')} ${WORDS[code]}`,
  });
}

async function* readRows(
  { reader, ledger }: SqlContext,
  table: string,
  keys: readonly string[],
): AsyncGenerator<Row, void> {
  const columns = sql.join(keys.map((key) => sql.ref(key)));
  let after: Row | null = null;
  for (;;) {
    const behind: ReturnType<typeof sql> =
      after === null
        ? sql``
        : sql`and (${columns}) > (${sql.join(keys.map((key) => sql.val(after?.[key])))})`;
    const { rows } =
      await sql<Row>`select * from ${sql.table(table)} where ledger = ${ledger} ${behind} order by ${columns} limit ${PAGE}`.execute(
        reader,
      );
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last;
  }
}

import type { CustodyFold } from '../../core/custody-fold.ts';
import { evidenceKey } from '../../core/evidence-by-run.ts';
import { isSameJson } from '../../core/json.ts';
import type { VerifyProblem } from '../../ports/ledger-store.ts';
import {
  meaningOf,
  toContainmentRow,
  toEvidenceRow,
  toFactsRow,
  toInvocationRow,
  toRunRow,
} from './records.ts';
import type { Db, SqlContext } from './tables.ts';

/** Compares every table that follows from the log with a replay, row by row. */
export async function compareTables(
  db: Db,
  { ledger }: SqlContext,
  fold: CustodyFold,
): Promise<readonly VerifyProblem[]> {
  const problems: VerifyProblem[] = [];
  const runs = await db.selectFrom('run').selectAll().where('ledger', '=', ledger).execute();
  compareRows('run', runs, {
    problems,
    keyOf: (row) => row.run_id,
    expected: new Map([...fold.runs].map(([id, run]) => [id, toRunRow(ledger, run)])),
  });
  const invocations = await db.selectFrom('invocation').selectAll().where('ledger', '=', ledger).execute();
  compareRows('invocation', invocations, {
    problems,
    keyOf: (row) => row.invocation_id,
    expected: new Map([...fold.invocations].map(([id, item]) => [id, toInvocationRow(ledger, item)])),
  });
  const evidence = await db.selectFrom('run_evidence').selectAll().where('ledger', '=', ledger).execute();
  compareRows('run_evidence', evidence, {
    problems,
    keyOf: (row) => evidenceKey(row),
    expected: new Map([...fold.evidence].map(([key, item]) => [key, toEvidenceRow(ledger, item)])),
  });
  const facts = await db.selectFrom('task_facts').selectAll().where('ledger', '=', ledger).execute();
  compareRows('task_facts', facts, {
    problems,
    keyOf: (row) => row.task_id,
    expected: new Map([...fold.tasks].map(([id, item]) => [id, toFactsRow(ledger, item)])),
  });
  const containment = await db.selectFrom('containment').selectAll().where('ledger', '=', ledger).execute();
  compareRows('containment', containment, {
    problems,
    keyOf: (row) => row.run_id,
    expected: new Map([...fold.containment].map(([id, item]) => [id, toContainmentRow(ledger, item)])),
  });
  return problems;
}

/** Compares the rows of one table with those that a replay gives. */
export function compareRows<Row extends object>(
  table: string,
  rows: readonly Row[],
  replay: {
    readonly problems: VerifyProblem[];
    readonly keyOf: (row: Row) => string;
    readonly expected: ReadonlyMap<string, object>;
  },
): void {
  const seen = new Set<string>();
  for (const row of rows) {
    const key = replay.keyOf(row);
    seen.add(key);
    const expected = replay.expected.get(key);
    if (expected === undefined)
      replay.problems.push({
        code: 'table_extra_row',
        message: `${table} has ${printable(key)}, the log does not`,
      });
    else if (!isSameRow(table, row, expected))
      replay.problems.push({
        code: 'table_mismatch',
        message: `${table} ${printable(key)} differs from a replay of the log`,
      });
  }
  for (const key of replay.expected.keys()) {
    if (!seen.has(key))
      replay.problems.push({
        code: 'table_missing_row',
        message: `${table} lacks ${printable(key)}, which the log has`,
      });
  }
}

function isSameRow(table: string, row: object, expected: object): boolean {
  return Object.entries(expected).every(([column, value]) =>
    column === 'record'
      ? isSameRecord(table, row, expected)
      : (row as Record<string, unknown>)[column] === value,
  );
}

/**
 * Compares what two rows' records say. A record that was made unreadable is another one than the replay's, not the
 * end of the comparison.
 */
export function isSameRecord(table: string, stored: object, expected: object): boolean {
  try {
    return isSameJson(meaningOf(table, stored), meaningOf(table, expected));
  } catch {
    return false;
  }
}

function printable(key: string): string {
  return key.replaceAll('\u0000', ' / ');
}

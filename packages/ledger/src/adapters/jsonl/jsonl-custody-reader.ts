import type { ContainmentRecord } from '../../core/containment.ts';
import { emptyContainment, isFaultOpen } from '../../core/containment.ts';
import { compareCodePoints, textOf } from '../../core/json.ts';
import type { RecordedEvent } from '../../core/recorded-event.ts';
import type { CustodyReader } from '../../ports/custody-reader.ts';
import { isOneOf } from '../sql/key-list.ts';
import { parseRecord, parseRun } from '../sql/records.ts';
import { sqlCustodyReader } from '../sql/sql-custody-reader.ts';
import type { SqlContext } from '../sql/tables.ts';
import { readCompactFaults, withCompactFaults } from './compact-faults.ts';
import type { LogIndex } from './log-index.ts';
import type { RootPaths } from './root-paths.ts';

/**
 * Answers from the index, brought up to the log before each answer. While a part of the log can't be read the
 * answers are those of the last time that it could; `isReadable` says so.
 */
export function jsonlCustodyReader(index: LogIndex, paths: RootPaths): CustodyReader {
  const ask = <T>(question: (reader: CustodyReader) => Promise<T>): Promise<T> =>
    index.read((context) => question(sqlCustodyReader(context)));
  return {
    isReadable: async () => (await index.sync()) === null,
    tasks: (taskIds) => ask((reader) => reader.tasks(taskIds)),
    run: (runId) => ask((reader) => reader.run(runId)),
    invocation: (id) => ask((reader) => reader.invocation(id)),
    openRuns: () => ask((reader) => reader.openRuns()),
    pendingInvocations: () => ask((reader) => reader.pendingInvocations()),
    owingTaskIds: () => ask((reader) => reader.owingTaskIds()),
    openFaults: () => index.read((context) => readOpenFaults(context, compactRows(paths))),
    debts: () => ask((reader) => reader.debts()),
    totals: () => ask((reader) => reader.totals()),
  };
}

/** The log holds every fault too; a compact file that can't be read takes nothing away. */
function compactRows(paths: RootPaths): readonly RecordedEvent[] {
  try {
    return readCompactFaults(paths);
  } catch {
    return [];
  }
}

async function readOpenFaults(
  context: SqlContext,
  rows: readonly RecordedEvent[],
): Promise<readonly ContainmentRecord[]> {
  const chain = await sqlCustodyReader(context).openFaults();
  const named = [...new Set(rows.map((row) => textOf(row, 'run_id')))];
  const known = new Map(chain.map((record) => [record.run_id, record]));
  for (const record of await readRecords(context, named)) known.set(record.run_id, record);
  return [...withCompactFaults(known, rows).values()]
    .filter(isFaultOpen)
    .sort((a, b) => compareCodePoints(a.run_id, b.run_id));
}

/** What the chain says of runs: their containment, or at least when they ended. */
async function readRecords(
  { reader, ledger, flags }: SqlContext,
  runIds: readonly string[],
): Promise<readonly ContainmentRecord[]> {
  if (runIds.length === 0) return [];
  const runs = await reader
    .selectFrom('run')
    .select('record')
    .where('ledger', '=', ledger)
    .where(isOneOf('run_id', runIds, flags))
    .execute();
  const ended = runs
    .map((row) => parseRun(row.record))
    .map((run) => ({ ...emptyContainment(run.run_id), closed_at: run.settled_at }));
  const records = await reader
    .selectFrom('containment')
    .select('record')
    .where('ledger', '=', ledger)
    .where(isOneOf('run_id', runIds, flags))
    .execute();
  return [...ended, ...records.map((row) => parseRecord<ContainmentRecord>(row.record))];
}

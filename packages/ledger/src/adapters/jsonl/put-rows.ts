import { printRawObject } from '../../core/raw-json.ts';
import type { TaskRow } from '../../core/task-row.ts';
import { mergeRow } from '../../core/task-row.ts';
import { InvalidRowError, LedgerError, StoreError } from '../../errors.ts';
import type { RowPutResult } from '../../ports/task-rows.ts';
import { replaceFile } from './durable-file.ts';
import { fsErrorCode } from './fs-error.ts';
import type { JsonlContext } from './jsonl-context.ts';
import { assertWritable } from './jsonl-context.ts';
import { canBeFileName, readRowFile, rowPath } from './row-files.ts';
import { takeRowLock } from './row-lock.ts';

/** Merges rows into their files, one after the other, each under its lock. All are judged before any is written. */
export async function putRows(
  context: JsonlContext,
  rows: readonly TaskRow[],
): Promise<readonly RowPutResult[]> {
  assertWritable(context);
  for (const row of rows) assertStorable(row);
  const results: RowPutResult[] = [];
  for (const row of rows) results.push(await putOrExplain(context, row));
  return results;
}

/** @throws StoreError if the file or its lock can't be written. */
async function putOrExplain(context: JsonlContext, row: TaskRow): Promise<RowPutResult> {
  try {
    return await putRow(context, row);
  } catch (cause) {
    if (!(cause instanceof Error) || fsErrorCode(cause) === '' || cause instanceof LedgerError) throw cause;
    const path = rowPath(context.paths, row.task_id);
    throw new StoreError('store_unreadable', `${path} can't be written: ${cause.message}`, {
      hint: 'Check the disk and the permissions of the file and its folder.',
      facts: { path, task_id: row.task_id },
      cause,
    });
  }
}

function assertStorable(row: TaskRow): void {
  if (!canBeFileName(row.task_id)) {
    throw new InvalidRowError(`the task id ${row.task_id} can't name a file, as it must in this store`, {
      hint: 'Use letters, digits, _ . and - here, or a SQLite store.',
      facts: { task_id: row.task_id, field: 'task_id' },
    });
  }
  if (row.status !== '') return;
  throw new InvalidRowError('status must be a non-empty string', {
    hint: 'Give every row its status.',
    facts: { task_id: row.task_id, field: 'status' },
  });
}

async function putRow(context: JsonlContext, row: TaskRow): Promise<RowPutResult> {
  const { paths, clock } = context;
  const lock = await takeRowLock(context, row.task_id);
  try {
    const existing = readRowFile(paths, row.task_id);
    const merge = mergeRow(existing?.row ?? null, row, new Date(clock.now()).toISOString());
    if (merge.outcome === 'refused')
      return { outcome: 'refused', reason: 'row_frozen', task_id: row.task_id, fields: merge.fields };
    if (merge.outcome === 'written')
      replaceFile(rowPath(paths, row.task_id), printRawObject(merge.row.raw), existing ?? undefined);
    return { outcome: merge.outcome, task_id: row.task_id };
  } finally {
    lock.release();
  }
}

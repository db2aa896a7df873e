import type { ConfirmedRow } from '../../ports/task-rows.ts';
import type { IndexDb } from './index-tables.ts';
import type { IndexWrite } from './log-index.ts';
import type { RootPaths } from './root-paths.ts';
import type { FileStamp } from './row-files.ts';
import { canBeFileName, readRowBytes } from './row-files.ts';

/** A row that was found true while its file stood like this and its task's newest event was this one. */
export interface RowCheck {
  readonly task_id: string;
  readonly stamp: FileStamp;
  readonly custody_seq: number;
}

/** The checks that rows which are confirmed now stand for; a row that changed since it was examined has none. */
export function toChecks(paths: RootPaths, rows: readonly ConfirmedRow[]): readonly RowCheck[] {
  return rows.flatMap(({ task_id, version, custody_seq }) => {
    const file = canBeFileName(task_id) ? tryRead(paths, task_id) : null;
    return file?.version === version ? [{ task_id, custody_seq, stamp: file.stamp }] : [];
  });
}

function tryRead(paths: RootPaths, taskId: string) {
  try {
    return readRowBytes(paths, taskId);
  } catch {
    return null;
  }
}

/** Keeps checks, in the caller's transaction, of tasks that had no event since. */
export async function saveChecks({ db, context }: IndexWrite, checks: readonly RowCheck[]): Promise<void> {
  for (const { task_id, stamp, custody_seq } of checks) {
    if ((await lastSeqOf(db, context.ledger, task_id)) !== custody_seq) continue;
    await db
      .replaceInto('row_check')
      .values({ task_id, ...stamp, custody_seq })
      .execute();
  }
}

/** The checks whose tasks had no event since, by task. */
export async function loadChecks(db: IndexDb, ledger: string): Promise<ReadonlyMap<string, FileStamp>> {
  const rows = await db
    .selectFrom('row_check')
    .leftJoin('task_facts', (join) =>
      join.onRef('task_facts.task_id', '=', 'row_check.task_id').on('task_facts.ledger', '=', ledger),
    )
    .select(['row_check.task_id', 'identity', 'size', 'mtime_ms', 'custody_seq', 'task_facts.last_seq'])
    .execute();
  const current = rows.filter((row) => (row.last_seq ?? 0) === row.custody_seq);
  return new Map(
    current.map(({ task_id, identity, size, mtime_ms }) => [task_id, { identity, size, mtime_ms }]),
  );
}

/** The newest event that could change the task's audit; 0 if there is none. */
export async function lastSeqOf(db: IndexDb, ledger: string, taskId: string): Promise<number> {
  const facts = await db
    .selectFrom('task_facts')
    .select('last_seq')
    .where('ledger', '=', ledger)
    .where('task_id', '=', taskId)
    .executeTakeFirst();
  return facts?.last_seq ?? 0;
}

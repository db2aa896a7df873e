import { join } from 'node:path';
import { InvalidRowError } from '../../errors.ts';
import type { LoadedRow, OwnTaskRows, RowProblem } from '../../ports/task-rows.ts';
import type { JsonlContext } from './jsonl-context.ts';
import { assertWritable } from './jsonl-context.ts';
import { putRows } from './put-rows.ts';
import type { RootPaths } from './root-paths.ts';
import { saveChecks, toChecks } from './row-checks.ts';
import { listRowNames, readRowFile, rowPath } from './row-files.ts';
import { selectStaleRows } from './select-stale.ts';
import { updateRows } from './update-rows.ts';

/** Rows as files that their orchestrator reads and writes too. */
export function jsonlTaskRows(context: JsonlContext): OwnTaskRows {
  const { paths } = context;
  return {
    load: async (taskId) => {
      const file = readRowFile(paths, taskId);
      return file === null ? null : { row: file.row, version: file.version };
    },
    count: async () => listRowNames(paths).taskIds.length,
    selectStale: () => selectStaleRows(context),
    update: (updates) => updateRows(context, updates),
    confirm: async (rows) => {
      assertWritable(context);
      const checks = toChecks(paths, rows);
      await context.index.write((write) => saveChecks(write, checks));
    },
    put: (rows) => putRows(context, rows),
    list: (query) => listRows(paths, query),
  };
}

async function* listRows(
  paths: RootPaths,
  query: { readonly status?: string; readonly onProblem?: (problem: RowProblem) => void },
): AsyncGenerator<LoadedRow, void> {
  const { taskIds, strays } = listRowNames(paths);
  for (const name of strays) {
    query.onProblem?.({
      task_id: null,
      place: join(paths.rows, name),
      message: 'the name is not that of a row',
    });
  }
  for (const taskId of taskIds) {
    const loaded = tryLoad(paths, taskId, query.onProblem);
    if (loaded !== null && (query.status === undefined || loaded.row.status === query.status)) yield loaded;
  }
}

function tryLoad(
  paths: RootPaths,
  taskId: string,
  onProblem?: (problem: RowProblem) => void,
): LoadedRow | null {
  try {
    const file = readRowFile(paths, taskId);
    return file === null ? null : { row: file.row, version: file.version };
  } catch (error) {
    if (!(error instanceof InvalidRowError)) throw error;
    onProblem?.({ task_id: taskId, place: rowPath(paths, taskId), message: error.message });
    return null;
  }
}

import { childDrivesOf, effectiveRow, MAX_RETRIES, retryIdOf, takesReplica } from '../core/effective-row.ts';
import type { TaskRow } from '../core/task-row.ts';
import { InvalidRowError } from '../errors.ts';
import type { ReplicaReader } from '../ports/replica-reader.ts';
import type { TaskRows } from '../ports/task-rows.ts';

/**
 * Reads a row as its readers should see it, see {@link effectiveRow}; null if there is no such row.
 * A retry that can't be read is as good as none: the row that names it is shown.
 *
 * @throws InvalidRowError if the row itself can't be read.
 */
export async function readEffectiveRow(
  rows: Pick<TaskRows, 'load'>,
  taskId: string,
  replicaReader: ReplicaReader | null,
): Promise<TaskRow | null> {
  const asked = await rows.load(taskId);
  if (asked === null) return null;
  const known = await loadRetries(rows, asked.row);
  const last = [...known.values()].at(-1) ?? asked.row;
  const replica =
    replicaReader === null || !takesReplica(last) ? null : await findReplica(replicaReader, last);
  return effectiveRow(
    asked.row,
    (id) => known.get(id) ?? null,
    () => replica,
  );
}

/** The row and its retries by id, in the order in which they follow each other. */
async function loadRetries(
  rows: Pick<TaskRows, 'load'>,
  row: TaskRow,
): Promise<ReadonlyMap<string, TaskRow>> {
  const known = new Map([[row.task_id, row]]);
  for (let id = retryIdOf(row); id !== '' && !known.has(id) && known.size <= MAX_RETRIES; ) {
    const next = await loadReadable(rows, id);
    if (next === null) break;
    known.set(id, next);
    id = retryIdOf(next);
  }
  return known;
}

async function loadReadable(rows: Pick<TaskRows, 'load'>, taskId: string): Promise<TaskRow | null> {
  try {
    return (await rows.load(taskId))?.row ?? null;
  } catch (error) {
    if (error instanceof InvalidRowError) return null;
    throw error;
  }
}

async function findReplica(reader: ReplicaReader, row: TaskRow): Promise<TaskRow | null> {
  for (const drive of childDrivesOf(row)) {
    const replica = await reader.read(drive, row.task_id);
    if (replica !== null) return replica;
  }
  return null;
}

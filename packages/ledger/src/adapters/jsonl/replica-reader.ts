import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { TaskRow } from '../../core/task-row.ts';
import { parseTaskRow } from '../../core/task-row.ts';
import type { ReplicaReader } from '../../ports/replica-reader.ts';

/** Reads copies from `<drive>/task_results/<task_id>.json`; a relative drive starts at the data root. */
export function jsonlReplicaReader(dataRoot: string): ReplicaReader {
  return {
    read: async (drive, taskId): Promise<TaskRow | null> => {
      const path = join(resolve(dataRoot, drive), 'task_results', `${taskId}.json`);
      try {
        // Only a regular file: reading a pipe or a device would never end.
        if (!(await stat(path)).isFile()) return null;
        const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
        return parseTaskRow(strict.decode(await readFile(path)), taskId);
      } catch {
        return null;
      }
    },
  };
}

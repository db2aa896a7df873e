import { resolve } from 'node:path';
import type { ReplicaReader } from '../../ports/replica-reader.ts';
import type { RootPaths } from './root-paths.ts';
import { rootPaths } from './root-paths.ts';
import { readRowFile } from './row-files.ts';

/** Reads copies on drives that are laid out like a data root. A copy that can't be read adds nothing. */
export function jsonlReplicas(paths: RootPaths): ReplicaReader {
  return {
    read: async (drive, taskId) => {
      try {
        return readRowFile(rootPaths(resolve(paths.root, drive)), taskId)?.row ?? null;
      } catch {
        return null;
      }
    },
  };
}

import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { OpenIndex } from './open-index.ts';
import { openIndexFile } from './open-index.ts';
import type { RootPaths } from './root-paths.ts';

/** The database and what was committed to it and not yet folded in. */
const PARTS = ['', '-wal'];

/** Longer than the host's clock takes to show that a file was written again. */
const QUIET_MS = 30;

const MAX_ATTEMPTS = 3;

/**
 * Opens a copy of the index that is there: opening a database, even for reading, may write beside it. Null if there
 * is none, or if its writers never pause for long enough to copy it.
 */
export async function openIndexCopy(paths: RootPaths, newId: () => string): Promise<OpenIndex | null> {
  const folder = mkdtempSync(join(tmpdir(), 'custody-index-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, 'custody.db');
    if (!(await copyQuietly(paths.index, copy))) {
      remove();
      return null;
    }
    const index = await openIndexFile(copy, newId);
    return {
      ...index,
      identity: null,
      close: async () => {
        await index.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Copies the files while nobody writes them: what stands on the disk at one moment is always a sound database. */
async function copyQuietly(from: string, to: string): Promise<boolean> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const before = stampOf(from);
    if (before === null) return false;
    await pause(QUIET_MS);
    for (const part of PARTS)
      if (statSync(from + part, { throwIfNoEntry: false }) !== undefined)
        copyFileSync(from + part, to + part);
    if (stampOf(from) === before) return true;
    for (const part of PARTS) rmSync(to + part, { force: true });
  }
  return false;
}

function stampOf(path: string): string | null {
  const stats = PARTS.map((part) => statSync(path + part, { throwIfNoEntry: false }));
  if (stats[0] === undefined) return null;
  return stats
    .map((stat) => (stat === undefined ? '-' : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}`))
    .join(' ');
}

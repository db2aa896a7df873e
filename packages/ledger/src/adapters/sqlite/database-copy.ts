import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A database that was copied to where its side files can be made. */
export interface DatabaseCopy {
  readonly path: string;
  readonly remove: () => void;
}

/** The database and what was committed to it and not yet folded in. */
const PARTS = ['', '-wal'];

/** Copies a database that nobody writes, such as one on a read-only medium; null if it changed meanwhile. */
export function copyDatabase(from: string): DatabaseCopy | null {
  const folder = mkdtempSync(join(tmpdir(), 'custody-look-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const path = join(folder, 'custody.db');
  const before = stampOf(from);
  try {
    for (const part of PARTS) {
      if (!existsSync(from + part)) continue;
      copyFileSync(from + part, path + part);
      chmodSync(path + part, 0o600);
    }
    if (stampOf(from) === before) return { path, remove };
  } catch (error) {
    remove();
    throw error;
  }
  remove();
  return null;
}

function stampOf(path: string): string {
  return PARTS.map((part) => {
    const stat = statSync(path + part, { throwIfNoEntry: false });
    return stat === undefined ? '-' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
  }).join(' ');
}

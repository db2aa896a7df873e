import { createHash } from 'node:crypto';
import { mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isMissing } from './fs-error.ts';
import type { HeldLock, IsOwnProcess, LockRules } from './lock-file.ts';
import { takeLock } from './lock-file.ts';

/** How the log's owner waits for its append lock, and so do we; we never append without it. */
const APPEND_LOCK: LockRules = { pollMs: 10, waitMs: 2000, staleMs: 10_000 };

/**
 * Takes the lock of appends to a log and of its rotation.
 *
 * @throws BusyError if another program holds it for over 2 seconds.
 */
export async function takeAppendLock(log: string, isOwn: IsOwnProcess): Promise<HeldLock> {
  mkdirSync(dirname(log), { recursive: true });
  return takeLock(appendLockPath(log), APPEND_LOCK, isOwn);
}

/** The lock file of a log: its name says which file is meant, however it was reached. */
export function appendLockPath(log: string): string {
  const name = createHash('sha256').update(resolvedPath(log)).digest('hex').slice(0, 12);
  return join(dirname(log), `.append_jsonl_${name}.lock`);
}

function resolvedPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
    return join(realpathSync(dirname(path)), basename(path));
  }
}

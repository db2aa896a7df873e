import { createHash } from 'node:crypto';
import { mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { LedgerError, StoreError } from '../../errors.ts';
import { fsErrorCode, isMissing } from './fs-error.ts';
import type { HeldLock, IsOwnProcess, LockRules } from './lock-file.ts';
import { takeLock } from './lock-file.ts';

/** How the log's owner waits for its append lock, and so do we; we never append without it. */
const APPEND_LOCK: LockRules = { pollMs: 10, waitMs: 2000, staleMs: 10_000 };

/**
 * Takes the lock of appends to a log and of its rotation.
 *
 * @throws BusyError if another program holds it for over 2 seconds.
 * @throws StoreError `log_unreadable` if no lock can be made where the log is: it could not be written either.
 */
export async function takeAppendLock(log: string, isOwn: IsOwnProcess): Promise<HeldLock> {
  try {
    mkdirSync(dirname(log), { recursive: true });
    return await takeLock(appendLockPath(log), APPEND_LOCK, isOwn);
  } catch (cause) {
    if (fsErrorCode(cause) === '' || cause instanceof LedgerError) throw cause;
    throw unwritableLog(log, cause);
  }
}

/** The error of a log that can't take an event. */
export function unwritableLog(path: string, cause: unknown): StoreError {
  return new StoreError(
    'log_unreadable',
    `${path} can't be written: ${cause instanceof Error ? cause.message : String(cause)}`,
    {
      hint: 'Check the disk and the permissions of the file.',
      facts: { path },
      cause,
    },
  );
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

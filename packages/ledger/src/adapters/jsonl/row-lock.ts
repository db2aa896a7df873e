import { mkdirSync } from 'node:fs';
import type { JsonlContext } from './jsonl-context.ts';
import type { HeldLock, LockRules } from './lock-file.ts';
import { takeLock } from './lock-file.ts';
import { rowPath } from './row-files.ts';

/** How the rows' owner waits for the lock of a row, and so do we. */
const ROW_LOCK: LockRules = { pollMs: 50, waitMs: 4000, staleMs: 90_000 };

/** Takes the lock of one row. @throws BusyError if another program holds it for over 4 seconds. */
export async function takeRowLock({ paths, index }: JsonlContext, taskId: string): Promise<HeldLock> {
  mkdirSync(paths.rows, { recursive: true });
  return takeLock(`${rowPath(paths, taskId)}.lock`, ROW_LOCK, (pid) => index.isOwnProcess(pid));
}

import {
  closeSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { BusyError } from '../../errors.ts';
import { fsErrorCode, isMissing } from './fs-error.ts';

/** How a kind of lock is waited for. */
export interface LockRules {
  readonly pollMs: number;
  readonly waitMs: number;
  /** Younger locks are never taken over, whoever wrote them. */
  readonly staleMs: number;
}

/** A lock that this process holds. */
export interface HeldLock {
  /** Removes the lock if it is still ours; harmless otherwise. */
  readonly release: () => void;
}

/**
 * Takes a lock: a file made with exclusive create, `pid=<pid> ts=<unix seconds>`, that every program which
 * writes here knows. One that was left behind is taken over only when its process is provably gone.
 *
 * @throws BusyError if somebody holds it for longer than the rules wait.
 */
export async function takeLock(path: string, rules: LockRules): Promise<HeldLock> {
  const deadline = performance.now() + rules.waitMs;
  for (;;) {
    const identity = tryCreate(path);
    if (identity !== null) return { release: () => removeIfOurs(path, identity) };
    if (isAbandoned(path, rules.staleMs) && takeAway(path, rules.staleMs)) continue;
    if (performance.now() >= deadline) throw busy(path);
    await pause(rules.pollMs);
  }
}

function busy(path: string): BusyError {
  return new BusyError(`somebody else holds ${path}`, {
    hint: 'Try again; the file names the process that holds the lock.',
    facts: { path, holder: contentOf(path)?.trim() ?? null },
  });
}

function tryCreate(path: string): string | null {
  let fd: number;
  try {
    fd = openSync(path, 'wx', 0o644);
  } catch (error) {
    if (fsErrorCode(error) === 'EEXIST') return null;
    throw error;
  }
  try {
    writeSync(fd, `pid=${process.pid} ts=${Math.floor(Date.now() / 1000)}\n`);
    const stat = fstatSync(fd);
    return `${stat.dev}:${stat.ino}`;
  } finally {
    closeSync(fd);
  }
}

function removeIfOurs(path: string, identity: string): void {
  try {
    const stat = statSync(path);
    if (`${stat.dev}:${stat.ino}` === identity) unlinkSync(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Old enough, and its process is gone for certain. A lock without a readable process id is nobody's to take. */
function isAbandoned(path: string, staleMs: number): boolean {
  try {
    if (Date.now() - statSync(path).mtimeMs < staleMs) return false;
    const pid = /^pid=(\d+)\b/.exec(contentOf(path) ?? '')?.[1];
    return pid !== undefined && isGone(Number(pid));
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function contentOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** True only if the host says that there is no such process. */
export function isGone(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return fsErrorCode(error) === 'ESRCH';
  }
}

/**
 * Moves an abandoned lock away under a name of our own, and looks again: between the look and the move somebody
 * else may have taken it over, and then his lock is put back.
 */
function takeAway(path: string, staleMs: number): boolean {
  const aside = `${path}.${process.pid}.${process.hrtime.bigint()}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (isMissing(error)) return true;
    throw error;
  }
  const isOurs = isAbandoned(aside, staleMs);
  if (!isOurs) putBack(aside, path);
  unlinkSync(aside);
  return isOurs;
}

function putBack(aside: string, path: string): void {
  try {
    linkSync(aside, path);
  } catch (error) {
    if (fsErrorCode(error) !== 'EEXIST') throw error;
  }
}

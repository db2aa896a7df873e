import { linkSync, readFileSync, renameSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { BusyError } from '../../errors.ts';
import { fsErrorCode, isMissing } from './fs-error.ts';
import { processAgeMs } from './process-age.ts';

/** Starts are counted in whole ticks, and files get their times a little late. */
const START_MARGIN_MS = 1000;

/** How a kind of lock is waited for. */
export interface LockRules {
  readonly pollMs: number;
  readonly waitMs: number;
  /** Younger locks of other programs are never taken over. */
  readonly staleMs: number;
}

/** A lock that this process holds. */
export interface HeldLock {
  /** Removes the lock if it is still ours; harmless otherwise. */
  readonly release: () => void;
}

/** Tells whether a process id was one of this ledger's own processes, seen from this host. */
export type IsOwnProcess = (pid: number) => Promise<boolean>;

/**
 * Takes a lock: a file made with exclusive create, `pid=<pid> ts=<unix seconds>`, that every program which
 * writes here knows. One that was left behind is taken over only when its process is provably gone: at once if it
 * was one of ours, since we know how ours hold locks, and otherwise when it is old.
 *
 * @throws BusyError if somebody holds it for longer than the rules wait.
 */
export async function takeLock(path: string, rules: LockRules, isOwn: IsOwnProcess): Promise<HeldLock> {
  const deadline = performance.now() + rules.waitMs;
  const held = identityOf(path);
  for (;;) {
    const identity = tryCreate(path);
    if (identity !== null) return { release: () => removeIfOurs(path, identity) };
    const isLate = performance.now() >= deadline;
    const abandoned = isLate
      ? findOutlived(path, { held, staleMs: rules.staleMs })
      : await findAbandoned(path, rules.staleMs, isOwn);
    if (abandoned !== null && takeAway(path, abandoned)) continue;
    if (isLate) throw busy(path);
    await pause(rules.pollMs);
  }
}

/**
 * The lock's identity if the process that bears its id now began after the lock was written: in a container the next
 * process has the id of the one that was killed. A clock that was set could say the same of a lock that is held, so
 * it must also have stood unchanged through our whole wait, which no holder that lives lets happen.
 */
function findOutlived(
  path: string,
  { held, staleMs }: { readonly held: string | null; readonly staleMs: number },
): string | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || held === null || identityOf(path) !== held) return null;
  const age = processAgeMs(pidIn(held));
  const lockAge = Date.now() - stat.mtimeMs;
  return age !== null && lockAge >= staleMs && age + START_MARGIN_MS < lockAge ? held : null;
}

function pidIn(identity: string | null): number {
  return Number(/:pid=(\d+)\b/.exec(identity ?? '')?.[1]);
}

function busy(path: string): BusyError {
  return new BusyError(`somebody else holds ${path}`, {
    hint: 'Try again; the file names the process that holds the lock.',
    facts: { path, holder: contentOf(path)?.trim() ?? null },
  });
}

/** Makes the lock with its content in one step: one without would name nobody, and could never be taken over. */
function tryCreate(path: string): string | null {
  const sibling = join(dirname(path), `.${basename(path)}.${process.pid}.${process.hrtime.bigint()}.tmp`);
  try {
    writeFileSync(sibling, `pid=${process.pid} ts=${Math.floor(Date.now() / 1000)}`, {
      flag: 'wx',
      mode: 0o644,
    });
    const identity = identityOf(sibling);
    linkSync(sibling, path);
    return identity;
  } catch (error) {
    if (fsErrorCode(error) === 'EEXIST') return null;
    throw error;
  } finally {
    rmSync(sibling, { force: true });
  }
}

function removeIfOurs(path: string, identity: string | null): void {
  if (identityOf(path) === identity) rmSync(path, { force: true });
}

/** The file and what it says: the number of a file that is gone is soon another file's. */
function identityOf(path: string): string | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  const content = contentOf(path);
  return stat === undefined || content === null ? null : `${stat.dev}:${stat.ino}:${content}`;
}

/** The lock's identity if its process is gone for certain and it may be taken over. One that names no process is nobody's to take. */
async function findAbandoned(path: string, staleMs: number, isOwn: IsOwnProcess): Promise<string | null> {
  const stat = statSync(path, { throwIfNoEntry: false });
  const identity = identityOf(path);
  const pid = pidIn(identity);
  if (stat === undefined || !isGone(pid)) return null;
  const isOld = Date.now() - stat.mtimeMs >= staleMs;
  return isOld || (await isOwn(pid)) ? identity : null;
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
function takeAway(path: string, abandoned: string): boolean {
  const aside = join(dirname(path), `.${basename(path)}.${process.pid}.${process.hrtime.bigint()}.tmp`);
  try {
    renameSync(path, aside);
  } catch (error) {
    if (isMissing(error)) return true;
    throw error;
  }
  const isTheOne = identityOf(aside) === abandoned;
  if (!isTheOne) putBack(aside, path);
  unlinkSync(aside);
  return isTheOne;
}

function putBack(aside: string, path: string): void {
  try {
    linkSync(aside, path);
  } catch (error) {
    if (fsErrorCode(error) !== 'EEXIST') throw error;
  }
}

import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { StoreError } from '../../errors.ts';
import type { SqlContext } from '../sql/tables.ts';
import type { SqliteHandles } from '../sqlite/open-sqlite.ts';
import { openPrivateSqlite, openSqlite } from '../sqlite/open-sqlite.ts';
import { isMissing } from './fs-error.ts';
import type { IndexDb } from './index-tables.ts';
import { INDEX_LEDGER, INDEX_SCHEMA, seedIndex } from './index-tables.ts';
import { takeLock } from './lock-file.ts';
import { registerProcess } from './own-processes.ts';
import type { RootPaths } from './root-paths.ts';

/** An open index. */
export interface OpenIndex {
  readonly context: SqlContext;
  /** The same handle as `context.writer`, with the tables that only an index has. */
  readonly db: IndexDb;
  /** Device and inode of the file; null for an index of this process alone. */
  readonly identity: string | null;
  readonly close: () => Promise<void>;
}

/** How long a writer waits for another process, in milliseconds: a replay of a long log takes a while. */
const BUSY_TIMEOUT_MS = 15_000;

/** Making the file takes moments; a lock of a process that died in them may be taken over soon. */
const CREATE_LOCK = { pollMs: 10, waitMs: 10_000, staleMs: 2000 };

/** Before there is an index nobody is known; every lock waits for its age. */
const isNobodyElse = async (): Promise<boolean> => false;

const MAX_ATTEMPTS = 3;

/**
 * Opens the index of a root, and makes it anew when it is missing or damaged. When its folder can't be written
 * the index lives and dies with this process.
 */
export async function openIndex(paths: RootPaths, newId: () => string): Promise<OpenIndex> {
  if (!makeStateFolder(paths)) return openPrivateIndex(newId);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openOnDisk(paths, newId);
    } catch (error) {
      if (isUnusablePlace(error)) return openPrivateIndex(newId);
      if (attempt >= MAX_ATTEMPTS || !isIndexDamage(error)) throw error;
      await discardIndex(paths, identityOf(paths.index), isForeign(error));
    }
  }
}

/** An index that nobody else sees. */
export async function openPrivateIndex(newId: () => string): Promise<OpenIndex> {
  return toOpenIndex(
    await openPrivateSqlite({
      schema: INDEX_SCHEMA,
      seed: (db) => seedIndex(db as unknown as IndexDb, newId()),
    }),
    null,
  );
}

/** Device and inode of a file; null if it is not there. */
export function identityOf(path: string): string | null {
  try {
    const stat = statSync(path);
    return `${stat.dev}:${stat.ino}`;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** True for errors that say that the index, not the log, is at fault: it is thrown away then. */
export function isIndexDamage(error: unknown): boolean {
  if (error instanceof StoreError) {
    return (
      error.code === 'store_corrupt' ||
      error.code === 'not_a_store' ||
      error.code === 'schema_newer' ||
      error.facts['sqlite_code'] === 'SQLITE_READONLY_DBMOVED'
    );
  }
  // A missing table, a broken key, a missing row: the file opens, and is no index.
  return error instanceof Error && (error.name === 'SqliteError' || error.name === 'NoResultError');
}

/** Removes an index, unless another process already put a new one there. A database of another program is set aside. */
export async function discardIndex(
  paths: RootPaths,
  identity: string | null,
  isOfOthers = false,
): Promise<void> {
  const lock = await takeLock(`${paths.index}.create.lock`, CREATE_LOCK, isNobodyElse);
  try {
    if (identity === null || identityOf(paths.index) !== identity) return;
    if (isOfOthers) renameSync(paths.index, `${paths.index}.set-aside-${Date.now()}`);
    removeFiles(paths);
  } finally {
    lock.release();
  }
}

function makeStateFolder(paths: RootPaths): boolean {
  try {
    mkdirSync(paths.state, { recursive: true });
    return true;
  } catch {
    return false;
  }
}

function isUnusablePlace(error: unknown): boolean {
  if (error instanceof StoreError)
    return error.code === 'store_unreadable' && error.facts['sqlite_code'] !== 'SQLITE_READONLY_DBMOVED';
  return (
    error instanceof Error &&
    'code' in error &&
    ['EROFS', 'EACCES', 'EPERM', 'ENOTDIR'].includes(String(error.code))
  );
}

/** A readable SQLite database that is no index. A file that is no database at all holds nothing to keep. */
function isForeign(error: unknown): boolean {
  return (
    error instanceof StoreError && error.code === 'not_a_store' && error.facts['sqlite_code'] === undefined
  );
}

async function openOnDisk(paths: RootPaths, newId: () => string): Promise<OpenIndex> {
  const index = isThere(paths.index)
    ? await openIndexFile(paths.index, newId)
    : await createOnDisk(paths, newId);
  try {
    await registerProcess(index.db);
    return index;
  } catch (error) {
    await index.close();
    throw error;
  }
}

/** An empty file is an index that is being made, under the lock, or one that somebody emptied. */
function isThere(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

async function createOnDisk(paths: RootPaths, newId: () => string): Promise<OpenIndex> {
  const lock = await takeLock(`${paths.index}.create.lock`, CREATE_LOCK, isNobodyElse);
  try {
    // What a deleted index left beside it would be taken for the new one's.
    if (!isThere(paths.index)) removeFiles(paths);
    return await openIndexFile(paths.index, newId);
  } finally {
    lock.release();
  }
}

/** Opens the index in a file, which is made if it is not there. */
export async function openIndexFile(path: string, newId: () => string): Promise<OpenIndex> {
  const handles = await openSqlite({
    path,
    create: true,
    readOnly: false,
    busyTimeoutMs: BUSY_TIMEOUT_MS,
    schema: INDEX_SCHEMA,
    // What a power cut takes from the index is read from the log again.
    durability: 'normal',
    seed: (db) => seedIndex(db as unknown as IndexDb, newId()),
  });
  return toOpenIndex(handles, identityOf(path));
}

function removeFiles(paths: RootPaths): void {
  for (const suffix of ['-wal', '-shm', '-journal', '']) rmSync(`${paths.index}${suffix}`, { force: true });
}

function toOpenIndex(handles: SqliteHandles, identity: string | null): OpenIndex {
  return {
    context: {
      writer: handles.writer,
      reader: handles.reader,
      ledger: INDEX_LEDGER,
      flags: { keyList: 'json_each', ledgers: 'one' },
    },
    db: handles.writer as unknown as IndexDb,
    identity,
    close: handles.close,
  };
}

import { createHash } from 'node:crypto';
import type { Dirent, Stats } from 'node:fs';
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareCodePoints } from '../../core/json.ts';
import type { TaskRow } from '../../core/task-row.ts';
import { parseTaskRow } from '../../core/task-row.ts';
import { InvalidRowError } from '../../errors.ts';
import { fsErrorCode, isMissing } from './fs-error.ts';
import type { RootPaths } from './root-paths.ts';

/** What the name of a row's file looks like; the name without its ending is the task's id. */
const ROW_NAME = /^([A-Za-z0-9][A-Za-z0-9_.-]{0,127})\.json$/;

const TASK_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

/** What tells a file from the same file after somebody rewrote it. */
export interface FileStamp {
  /** Device and inode. */
  readonly identity: string;
  readonly size: number;
  readonly mtime_ms: number;
}

/** A row's file, read. */
export interface RowFile {
  readonly row: TaskRow;
  readonly stamp: FileStamp;
  /** sha256 of the file's bytes. */
  readonly version: string;
  /** Permission bits, which a rewrite keeps. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** True for a task id that can be a file's name. */
export function canBeFileName(taskId: string): boolean {
  return TASK_ID.test(taskId);
}

/** The file of a task's row. */
export function rowPath(paths: RootPaths, taskId: string): string {
  return join(paths.rows, `${taskId}.json`);
}

/** What stands in the folder of rows. */
export interface RowNames {
  /** Ids of the tasks that have a file, by code point. */
  readonly taskIds: readonly string[];
  /** Names of other files there, which are left alone. */
  readonly strays: readonly string[];
}

/** Lists the folder of rows; one that is not there is empty. */
export function listRowNames(paths: RootPaths): RowNames {
  const entries = readEntries(paths.rows);
  const taskIds = entries.flatMap((entry) => ROW_NAME.exec(entry.name)?.[1] ?? []).sort(compareCodePoints);
  const strays = entries.filter(
    (entry) => !entry.isDirectory() && !ROW_NAME.test(entry.name) && !isTemporary(entry.name),
  );
  return { taskIds, strays: strays.map((entry) => entry.name).sort(compareCodePoints) };
}

function readEntries(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Locks, and rows that are being written. */
function isTemporary(name: string): boolean {
  return name.endsWith('.lock') || name.endsWith('.tmp');
}

/** A file as it stands, read in one piece. */
export interface RowBytes extends Omit<RowFile, 'row'> {
  readonly bytes: Buffer;
}

/** Reads a row's file without judging it; null if there is none. @throws InvalidRowError if it is no regular file. */
export function readRowBytes(paths: RootPaths, taskId: string): RowBytes | null {
  const path = rowPath(paths, taskId);
  const fd = openRow(path, taskId);
  if (fd === null) return null;
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw unreadableRow(path, taskId, 'it is no regular file');
    const bytes = readFileSync(fd);
    return {
      bytes,
      version: hashOf(bytes),
      stamp: toStamp(stat),
      mode: stat.mode & 0o7777,
      uid: stat.uid,
      gid: stat.gid,
    };
  } finally {
    closeSync(fd);
  }
}

/** The stamp of a row's file as it stands; null if there is none. */
export function stampOf(paths: RootPaths, taskId: string): FileStamp | null {
  const stat = lstatSync(rowPath(paths, taskId), { throwIfNoEntry: false });
  return stat === undefined ? null : toStamp(stat);
}

function toStamp(stat: Stats): FileStamp {
  return { identity: `${stat.dev}:${stat.ino}`, size: stat.size, mtime_ms: stat.mtimeMs };
}

/** True if nobody rewrote the file in between. */
export function isSameStamp(left: FileStamp, right: FileStamp): boolean {
  return left.identity === right.identity && left.size === right.size && left.mtime_ms === right.mtime_ms;
}

function openRow(path: string, taskId: string): number | null {
  try {
    // Asked first: an error for each of the tasks that wait for their rows would cost a sweep most of its time.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null;
    // A link would be replaced by the file that a rewrite renames over it, and a pipe would never answer.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isMissing(error)) return null;
    if (fsErrorCode(error) === 'ELOOP') throw unreadableRow(path, taskId, 'it is a link');
    throw unreadableRow(path, taskId, error instanceof Error ? error.message : String(error));
  }
}

/** Reads a task's row; null if there is none. @throws InvalidRowError if there is something that is no row of ours. */
export function readRowFile(paths: RootPaths, taskId: string): RowFile | null {
  if (!canBeFileName(taskId)) return null;
  const file = readRowBytes(paths, taskId);
  if (file === null) return null;
  const { bytes, ...facts } = file;
  return { ...facts, row: parseTaskRow(decode(bytes, paths, taskId), taskId) };
}

/** The text of a row's bytes. @throws InvalidRowError if they are not UTF-8. */
export function decode(bytes: Uint8Array, paths: RootPaths, taskId: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unreadableRow(rowPath(paths, taskId), taskId, 'it is not UTF-8');
  }
}

function unreadableRow(path: string, taskId: string, reason: string): InvalidRowError {
  return new InvalidRowError(`${path} can't be read as a row: ${reason}`, {
    hint: 'Repair the file; it was left as it is.',
    facts: { task_id: taskId, path },
  });
}

/** The version of a row: sha256 of its file's bytes. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

import { closeSync, existsSync, fdatasyncSync, fstatSync, ftruncateSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder, writeFully } from './durable-file.ts';
import { unwritableLog } from './log-lock.ts';
import { readRange } from './segment-file.ts';

const NEWLINE = 0x0a;

/** True if the file's last line lacks its newline: a write to it was cut. */
export function hasTornTail(path: string): boolean {
  if (!existsSync(path)) return false;
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    return size > 0 && readRange(fd, size - 1, size)[0] !== NEWLINE;
  } finally {
    closeSync(fd);
  }
}

/**
 * Appends bytes to a log and returns once they are durable. If they can't all be made durable, none are kept.
 *
 * @throws StoreError if the log can't be written.
 */
export function appendDurably(path: string, bytes: Uint8Array): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    const isNew = !existsSync(path);
    const fd = openSync(path, 'a', 0o644);
    try {
      writeOrUndo(fd, bytes);
    } finally {
      closeSync(fd);
    }
    if (isNew) syncFolder(dirname(path));
  } catch (cause) {
    throw unwritableLog(path, cause);
  }
}

/** A write whose sync failed is taken back too: a later sync may succeed without having written these bytes. */
function writeOrUndo(fd: number, bytes: Uint8Array): void {
  const before = fstatSync(fd).size;
  try {
    writeFully(fd, bytes);
    fdatasyncSync(fd);
  } catch (error) {
    // Under the append lock only a program that takes no lock can have written behind it; its bytes are not ours to cut.
    if (fstatSync(fd).size <= before + bytes.length) ftruncateSync(fd, before);
    throw error;
  }
}

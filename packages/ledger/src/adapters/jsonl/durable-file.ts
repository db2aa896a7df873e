import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Whose a file is and who may read it. */
export interface FileOwnership {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Replaces a file in one step: a reader sees the old text or the new one, also after a power cut.
 * The temporary sibling is removed when anything fails.
 */
export function replaceFile(path: string, text: string, ownership?: FileOwnership): void {
  const folder = dirname(path);
  const sibling = join(folder, `.${basename(path)}.${process.pid}.${process.hrtime.bigint()}.tmp`);
  try {
    const fd = openSync(sibling, 'wx', ownership?.mode ?? 0o644);
    try {
      writeFully(fd, Buffer.from(text));
      if (ownership !== undefined) keepOwnership(fd, ownership);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(sibling, path);
  } catch (error) {
    rmSync(sibling, { force: true });
    throw error;
  }
  syncFolder(folder);
}

function keepOwnership(fd: number, { mode, uid, gid }: FileOwnership): void {
  // Only root may give a file away; for anybody else it is his own already or was open to him.
  if (process.getuid?.() === 0) fchownSync(fd, uid, gid);
  fchmodSync(fd, mode);
}

/** Writes all bytes at the file's place, however many calls it takes. */
export function writeFully(fd: number, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(fd, bytes, written, bytes.length - written);
}

/** Makes the names in a folder durable. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

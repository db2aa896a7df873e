import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Segment } from './chain-view.ts';
import { isMissing } from './fs-error.ts';

/** A segment that is not what the view of the chain said: it was moved, replaced or cut meanwhile. */
export class ChainMovedError extends Error {
  override readonly name = 'ChainMovedError';
}

/**
 * Opens a segment of a view; the caller closes it.
 *
 * @throws ChainMovedError if another file stands there now; look at the chain again.
 */
export function openSegment(segment: Segment): number {
  const fd = openMoved(segment.path);
  const stat = fstatSync(fd);
  if (`${stat.dev}:${stat.ino}` === segment.identity) return fd;
  closeSync(fd);
  throw new ChainMovedError(`${segment.path} was replaced`);
}

function openMoved(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (isMissing(error)) throw new ChainMovedError(`${path} is gone`, { cause: error });
    throw error;
  }
}

/** Opens a segment of a view and hands it to `read`. @throws ChainMovedError as {@link openSegment} does. */
export function withSegment<T>(segment: Segment, read: (fd: number) => T): T {
  const fd = openSegment(segment);
  try {
    return read(fd);
  } finally {
    closeSync(fd);
  }
}

/** Bytes of a file; shorter than asked only at its end. */
export function readRange(fd: number, from: number, to: number): Buffer {
  const buffer = Buffer.allocUnsafe(Math.max(0, to - from));
  let filled = 0;
  while (filled < buffer.length) {
    const count = readSync(fd, buffer, filled, buffer.length - filled, from + filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}

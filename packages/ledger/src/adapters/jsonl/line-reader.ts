import { readSync } from 'node:fs';
import { ChainMovedError } from './segment-file.ts';

const CHUNK_BYTES = 1_048_576;

/** A line longer than this is no event of anybody; it is passed over without being held in memory. */
export const MAX_LINE_BYTES = 16 * CHUNK_BYTES;

const NEWLINE = 0x0a;

/** A run of complete lines of one file. */
export interface LineBlock {
  /** The lines with their newlines. Valid until the next block is asked for. */
  readonly bytes: Buffer;
  /** Offset of the first byte in the file. */
  readonly start: number;
}

/**
 * Reads the complete lines between two offsets of a file, in blocks. `from` must be the start of a line. What
 * follows the last newline is not part of any block; the caller sees it by where the last block ended.
 *
 * @throws ChainMovedError if the file ends before `to`.
 */
export function* readLineBlocks(fd: number, from: number, to: number): Generator<LineBlock, void> {
  let buffer: Buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let held = 0;
  let heldStart = from;
  let isSkipping = false;
  for (let offset = from; offset < to; ) {
    if (held === buffer.length) buffer = grown(buffer);
    const count = readSync(fd, buffer, held, Math.min(buffer.length - held, to - offset), offset);
    if (count === 0) throw new ChainMovedError('the segment is shorter than it was');
    offset += count;
    held += count;
    let lineStart = 0;
    if (isSkipping) {
      const end = buffer.subarray(0, held).indexOf(NEWLINE);
      lineStart = end < 0 ? held : end + 1;
      isSkipping = end < 0;
    }
    const complete = buffer.subarray(0, held).lastIndexOf(NEWLINE) + 1;
    if (complete > lineStart)
      yield { bytes: buffer.subarray(lineStart, complete), start: heldStart + lineStart };
    const kept = Math.max(complete, lineStart);
    buffer.copyWithin(0, kept, held);
    held -= kept;
    heldStart += kept;
    if (held >= MAX_LINE_BYTES) {
      isSkipping = true;
      heldStart += held;
      held = 0;
    }
  }
}

function grown(buffer: Buffer): Buffer {
  const larger = Buffer.allocUnsafe(buffer.length * 2);
  buffer.copy(larger);
  return larger;
}

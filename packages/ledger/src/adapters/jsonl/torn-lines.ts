import { readLine } from '../../core/dialect.ts';
import type { Segment } from './chain-view.ts';
import { findCustodyLines } from './custody-marks.ts';
import { readLineBlocks } from './line-reader.ts';
import { withSegment } from './segment-file.ts';

/** A line that is not what its writer meant to write. */
export interface TornLine {
  /** Name of the segment, relative to the root. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** False for the rest of a write that was cut: it has no newline, and in the newest segment may still get one. */
  readonly hasNewline: boolean;
}

const NEWLINE = 0x0a;

/** Counts what the lines of a log are, and finds the torn ones. */
export interface LineCensus {
  readonly lines: number;
  readonly torn: readonly TornLine[];
}

/** Looks at every line of a segment. Rows of other subsystems are not parsed when they begin and end like an object. */
export function takeCensus(segment: Segment): LineCensus {
  const torn: TornLine[] = [];
  let lines = 0;
  let end = 0;
  withSegment(segment, (fd) => {
    for (const block of readLineBlocks(fd, 0, segment.size)) {
      const custody = new Set([...findCustodyLines(block.bytes)].map((span) => span.start));
      for (let at = 0; at < block.bytes.length; ) {
        const next = block.bytes.indexOf(NEWLINE, at) + 1;
        lines += 1;
        const bytes = block.bytes.subarray(at, next - 1);
        if ((custody.has(at) || !looksWhole(bytes)) && isTorn(bytes))
          torn.push({ file: segment.name, line: lines, hasNewline: true });
        at = next;
      }
      end = block.start + block.bytes.length;
    }
  });
  if (end < segment.size) torn.push({ file: segment.name, line: lines + 1, hasNewline: false });
  return { lines, torn };
}

/** True if the bytes begin and end like a JSON object: good enough for rows that are nobody's business here. */
export function looksWhole(line: Buffer): boolean {
  let first = 0;
  let last = line.length - 1;
  while (isBlank(line[first])) first += 1;
  while (last > first && isBlank(line[last])) last -= 1;
  return line[first] === 0x7b && line[last] === 0x7d;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}

function isTorn(line: Buffer): boolean {
  return readLine(line.toString('utf8')).kind === 'torn';
}

import type { Segment } from './chain-view.ts';
import { classifyLines } from './classified-lines.ts';
import { readRange, withSegment } from './segment-file.ts';

/** A line that is not what its writer meant to write, or that nobody can read. */
export interface TornLine {
  /** Name of the segment, relative to the root. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** False for the rest of a write that was cut: it has no newline, and in the newest segment may still get one. */
  readonly hasNewline: boolean;
  /** True for a line that is longer than any that is read. */
  readonly isLong: boolean;
}

const NEWLINE = 0x0a;

/** Finds the torn lines of a segment. */
export function findTornLines(segment: Segment): readonly TornLine[] {
  const torn: TornLine[] = [];
  let last = 0;
  for (const { line, kind } of classifyLines(segment)) {
    last = line;
    if (kind === 'torn' || kind === 'long')
      torn.push({ file: segment.name, line, hasNewline: true, isLong: kind === 'long' });
  }
  if (lacksNewline(segment))
    torn.push({ file: segment.name, line: last + 1, hasNewline: false, isLong: false });
  return torn;
}

/** True if the last line of a segment was cut, or is being written. */
export function lacksNewline(segment: Segment): boolean {
  if (segment.size === 0) return false;
  return withSegment(segment, (fd) => readRange(fd, segment.size - 1, segment.size)[0] !== NEWLINE);
}

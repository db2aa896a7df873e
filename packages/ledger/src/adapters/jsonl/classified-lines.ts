import { closeSync } from 'node:fs';
import type { LineEvent } from '../../core/dialect.ts';
import { readLine } from '../../core/dialect.ts';
import type { Segment } from './chain-view.ts';
import { findCustodyLines } from './custody-marks.ts';
import { MAX_LINE_BYTES, readLineBlocks } from './line-reader.ts';
import { openSegment } from './segment-file.ts';

const NEWLINE = 0x0a;

/** One line of a segment that is not blank, and what it is. */
export interface ClassifiedLine {
  /** From 1. */
  readonly line: number;
  /** Offset in the segment of its first byte. */
  readonly start: number;
  /** Without the newline; empty for a long line. Valid until the next line is asked for. */
  readonly bytes: Buffer;
  /** `long` = beyond what any reader holds in memory: it was passed over. */
  readonly kind: 'event' | 'noise' | 'torn' | 'long';
  /** Only of a line that is an event. */
  readonly event: LineEvent | null;
}

/**
 * Tells of every complete line what it is. Rows of other subsystems are not parsed when they begin and end like an
 * object: whether their inside is sound is nobody's business here.
 */
export function* classifyLines(segment: Segment): Generator<ClassifiedLine, void> {
  const fd = openSegment(segment);
  let line = 0;
  let end = 0;
  try {
    for (const block of readLineBlocks(fd, 0, segment.size)) {
      if (block.start > end) {
        line += 1;
        yield longLine(line, end);
      }
      end = block.start + block.bytes.length;
      const custody = new Set([...findCustodyLines(block.bytes)].map((span) => span.start));
      for (let at = 0; at < block.bytes.length; ) {
        const next = block.bytes.indexOf(NEWLINE, at) + 1;
        const bytes = block.bytes.subarray(at, next - 1);
        line += 1;
        if (!isBlankLine(bytes))
          yield { line, start: block.start + at, bytes, ...judge(bytes, custody.has(at)) };
        at = next;
      }
    }
    if (segment.size - end > MAX_LINE_BYTES) yield longLine(line + 1, end);
  } finally {
    closeSync(fd);
  }
}

/** Long lines that follow each other count as one. */
function longLine(line: number, start: number): ClassifiedLine {
  return { line, start, bytes: Buffer.alloc(0), kind: 'long', event: null };
}

/** What one line is. */
export function judge(line: Buffer, mayBeCustody: boolean): Pick<ClassifiedLine, 'kind' | 'event'> {
  if (!mayBeCustody && looksWhole(line)) return { kind: 'noise', event: null };
  const reading = readLine(line.toString('utf8'));
  return { kind: reading.kind, event: reading.kind === 'event' ? reading.event : null };
}

function looksWhole(line: Buffer): boolean {
  let first = 0;
  let last = line.length - 1;
  while (isBlank(line[first])) first += 1;
  while (last > first && isBlank(line[last])) last -= 1;
  return line[first] === 0x7b && line[last] === 0x7d;
}

function isBlankLine(line: Buffer): boolean {
  return line.every(isBlank);
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}

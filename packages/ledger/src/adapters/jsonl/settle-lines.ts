import { closeSync } from 'node:fs';
import { readLine } from '../../core/dialect.ts';
import { textOf } from '../../core/json.ts';
import type { Segment } from './chain-view.ts';
import { findCustodyLines } from './custody-marks.ts';
import { readLineBlocks } from './line-reader.ts';
import { openSegment } from './segment-file.ts';

/** Bytes of one scan: it stops before a line once it read more than this. */
const SCAN_BYTES = 5_242_880;

const NEWLINE = 0x0a;
const ENDINGS: ReadonlySet<string> = new Set(['run.settled', 'run.closed_absent']);

/** What a scan saw so far. */
export interface ScanProgress {
  /** Offset in the chain up to which every line was consumed. */
  offset: number;
  /** Where the last consumed line begins in the chain. */
  lastLineStart: number;
  /** Bytes of lines that were read. */
  bytes: number;
  lines: number;
  readonly taskIds: Set<string>;
}

/**
 * Reads the lines of one segment from where the scan stands. A line without its newline waits in the newest
 * segment and is passed over in an older one, where it will never be completed. False if the scan is full.
 */
export function scanSegment(
  segment: Segment,
  place: { readonly start: number; readonly isLast: boolean },
  progress: ScanProgress,
): boolean {
  const fd = openSegment(segment);
  try {
    for (const block of readLineBlocks(fd, progress.offset - place.start, segment.size)) {
      if (!scanBlock(block.bytes, place.start + block.start, progress)) return false;
    }
  } finally {
    closeSync(fd);
  }
  const end = place.start + segment.size;
  if (place.isLast || progress.offset === end) return true;
  if (progress.bytes > SCAN_BYTES) return false;
  progress.lastLineStart = progress.offset;
  progress.offset = end;
  return true;
}

function scanBlock(lines: Buffer, chainStart: number, progress: ScanProgress): boolean {
  const marked = new Map([...findCustodyLines(lines)].map((span) => [span.start, span.end]));
  let at = 0;
  while (at < lines.length) {
    if (progress.bytes > SCAN_BYTES) return false;
    const end = lines.indexOf(NEWLINE, at) + 1;
    const markedEnd = marked.get(at);
    if (markedEnd !== undefined) collectTask(lines.toString('utf8', at, markedEnd), progress.taskIds);
    progress.lastLineStart = chainStart + at;
    progress.offset = chainStart + end;
    progress.bytes += end - at;
    progress.lines += 1;
    at = end;
  }
  return true;
}

function collectTask(text: string, taskIds: Set<string>): void {
  const reading = readLine(text);
  if (reading.kind !== 'event' || !ENDINGS.has(reading.event.type)) return;
  const taskId = textOf(reading.event.given, 'task_id');
  if (taskId !== '') taskIds.add(taskId);
}

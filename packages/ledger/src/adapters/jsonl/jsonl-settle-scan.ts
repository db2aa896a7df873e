import { createHash } from 'node:crypto';
import type { JsonObject } from '../../core/json.ts';
import type { SettleScan, SettleScanResult } from '../../ports/settle-scan.ts';
import type { Segment } from './chain-view.ts';
import { viewChain } from './chain-view.ts';
import type { RootPaths } from './root-paths.ts';
import { ChainMovedError, readRange, withSegment } from './segment-file.ts';
import type { ScanProgress } from './settle-lines.ts';
import { scanSegment } from './settle-lines.ts';

/** The most of a last line that a position remembers. */
const MAX_TAIL_BYTES = 1_048_576;

const MAX_ATTEMPTS = 5;

/** Scans the raw bytes of the chain: a position means the same to every program that reads the log. */
export function jsonlSettleScan(paths: RootPaths): SettleScan {
  return { settledAfter: async (position) => scanAgain(paths, position) };
}

function scanAgain(paths: RootPaths, position: JsonObject | null): SettleScanResult {
  for (let attempt = 1; ; attempt += 1) {
    const view = viewChain(paths);
    if (!view.readable) return { outcome: 'unreadable' };
    try {
      return scan(place(view.segments), position);
    } catch (error) {
      if (!(error instanceof ChainMovedError) || attempt >= MAX_ATTEMPTS) return { outcome: 'unreadable' };
    }
  }
}

interface PlacedSegment {
  readonly segment: Segment;
  /** Offset in the chain of its first byte. */
  readonly start: number;
  readonly isLast: boolean;
}

function place(segments: readonly Segment[]): readonly PlacedSegment[] {
  let start = 0;
  return segments.map((segment, ord) => {
    const placed = { segment, start, isLast: ord === segments.length - 1 };
    start += segment.size;
    return placed;
  });
}

function scan(chain: readonly PlacedSegment[], position: JsonObject | null): SettleScanResult {
  const total = chain.reduce((sum, { segment }) => sum + segment.size, 0);
  const offset = validOffset(chain, total, position);
  const progress: ScanProgress = { offset, lastLineStart: offset, bytes: 0, lines: 0, taskIds: new Set() };
  for (const placed of chain) {
    if (placed.start + placed.segment.size <= progress.offset) continue;
    if (!scanSegment(placed.segment, placed, progress)) break;
  }
  const isRegrounded = position !== null && offset !== offsetOf(position);
  const isMoved = isRegrounded || progress.offset !== offset;
  return {
    outcome: 'scanned',
    task_ids: [...progress.taskIds],
    scanned: progress.lines,
    next: isMoved || position === null ? toPosition(chain, progress) : position,
    moved: isMoved,
  };
}

function offsetOf(position: JsonObject | null): number {
  const offset = position?.['offset'];
  return typeof offset === 'number' && Number.isSafeInteger(offset) && offset > 0 ? offset : 0;
}

/** Where a scan may go on; 0 if the chain shrank, or if another line stands where the position's last one was. */
function validOffset(chain: readonly PlacedSegment[], total: number, position: JsonObject | null): number {
  const offset = offsetOf(position);
  if (position === null || offset > total) return 0;
  const tailBytes = position['last_line_bytes'];
  const placed = segmentBefore(chain, offset);
  // The log's other readers remember the offset alone.
  if (placed === undefined || typeof tailBytes !== 'number' || typeof position['last_line_hash'] !== 'string')
    return offset;
  const isSameSegment = position['segment'] === placed.segment.identity;
  return isSameSegment && tailHash(placed, offset, tailBytes) === position['last_line_hash'] ? offset : 0;
}

/** The segment that holds the byte before an offset. */
function segmentBefore(chain: readonly PlacedSegment[], offset: number): PlacedSegment | undefined {
  return chain.find(({ segment, start }) => start < offset && offset <= start + segment.size);
}

function tailHash({ segment, start }: PlacedSegment, offset: number, bytes: number): string {
  const from = Math.max(0, offset - bytes - start);
  return withSegment(segment, (fd) =>
    createHash('sha256')
      .update(readRange(fd, from, offset - start))
      .digest('hex'),
  );
}

function toPosition(chain: readonly PlacedSegment[], { offset, lastLineStart }: ScanProgress): JsonObject {
  const placed = segmentBefore(chain, offset);
  if (placed === undefined || lastLineStart >= offset) return { offset };
  const bytes = Math.min(offset - lastLineStart, MAX_TAIL_BYTES);
  return {
    offset,
    segment: placed.segment.identity,
    last_line_bytes: bytes,
    last_line_hash: tailHash(placed, offset, bytes),
  };
}

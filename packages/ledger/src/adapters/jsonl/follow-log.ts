import { createHash } from 'node:crypto';
import { closeSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Selectable } from 'kysely';
import type { SqlContext } from '../sql/tables.ts';
import type { Segment } from './chain-view.ts';
import { findCustodyLines } from './custody-marks.ts';
import type { IndexDb, IndexTables } from './index-tables.ts';
import { clearIndex } from './index-tables.ts';
import type { ChainLine, IdConflict, IngestState } from './ingest.ts';
import { ingest, readIngestState } from './ingest.ts';
import { readLineBlocks } from './line-reader.ts';
import { ChainMovedError, openSegment, readRange, withSegment } from './segment-file.ts';

/** A segment as the index remembers it. */
type KnownSegment = Selectable<IndexTables['log_segment']>;

/** Events of one batch: enough to share the cost of loading records, few enough to hold in memory. */
const BATCH_LINES = 4000;
const BATCH_BYTES = 4_194_304;

/** Bytes at the start of a segment that tell it from another file under its name. */
const HEAD_BYTES = 4096;

/** The most of a last line that is remembered. */
const MAX_TAIL_BYTES = 1_048_576;

const NEWLINE = 0x0a;

/** What following the log needs besides the index. */
export interface FollowOptions {
  readonly newId: () => string;
  /** Hears of every time that the log is read from the beginning. */
  readonly onReplay: () => void;
  readonly onConflicts?: (conflicts: readonly IdConflict[]) => void;
}

/**
 * Brings the index to where the log stood in the view, inside a transaction. A chain that only grew, or was
 * rotated, is read from where the index stands; in any doubt the index is cleared and the log replayed.
 *
 * @throws ChainMovedError if the chain is no longer that of the view; nothing may be committed then.
 */
export async function followLog(
  db: IndexDb,
  context: SqlContext,
  view: readonly Segment[],
  options: FollowOptions,
): Promise<void> {
  let known: readonly KnownSegment[] = await db
    .selectFrom('log_segment')
    .selectAll()
    .orderBy('ord')
    .execute();
  if (!continues(known, view)) {
    await clearIndex(db, options.newId());
    known = [];
  }
  if (known.length === 0 && view.some((segment) => segment.size > 0)) options.onReplay();
  const state = await readIngestState(db, context);
  let chainStart = 0;
  for (const [ord, segment] of view.entries()) {
    const isLast = ord === view.length - 1;
    const before = known[ord];
    if (before === undefined || !isFinished(before, segment, isLast)) {
      const read = await readSegment(
        { db, context, options, state },
        { segment, before, chainStart, isLast },
      );
      await db
        .replaceInto('log_segment')
        .values({ ord, chain_start: chainStart, ...read })
        .execute();
    }
    chainStart += segment.size;
  }
}

/** True if the view shows the chain of the index, grown or rotated but not changed. */
function continues(known: readonly KnownSegment[], view: readonly Segment[]): boolean {
  if (known.length > view.length) return false;
  return known.every((before, ord) => {
    const now = view[ord];
    if (now === undefined || now.identity !== before.identity) return false;
    if (now.size === before.size) return now.mtime_ms === before.mtime_ms;
    // Only the newest segment grows.
    return ord === known.length - 1 && now.size > before.size && holdsWhatWasRead(before, now);
  });
}

/** True if the view shows exactly what the index was made from. */
export function isUnchanged(known: readonly Omit<Segment, 'path'>[], view: readonly Segment[]): boolean {
  return (
    known.length === view.length &&
    known.every((before, ord) => {
      const now = view[ord];
      return (
        now !== undefined &&
        now.name === before.name &&
        now.identity === before.identity &&
        now.size === before.size &&
        now.mtime_ms === before.mtime_ms
      );
    })
  );
}

/** True if the tables show all of the view: there is nothing to follow. */
export async function isFollowed(db: IndexDb, view: readonly Segment[]): Promise<boolean> {
  const known = await db.selectFrom('log_segment').selectAll().orderBy('ord').execute();
  return (
    isUnchanged(known, view) &&
    known.every((before, ord) => ord === known.length - 1 || before.consumed === before.size)
  );
}

function holdsWhatWasRead(before: KnownSegment, segment: Segment): boolean {
  return withSegment(
    segment,
    (fd) =>
      sha256(readRange(fd, 0, before.head_bytes)) === before.head_hash &&
      sha256(readRange(fd, before.tail_start, before.consumed)) === before.tail_hash,
  );
}

/** A segment that is no longer the newest has nothing to wait for: what it lacks a newline for is torn for ever. */
function isFinished(before: KnownSegment, segment: Segment, isLast: boolean): boolean {
  return (
    before.name === segment.name &&
    before.size === segment.size &&
    before.mtime_ms === segment.mtime_ms &&
    (isLast || before.consumed === segment.size)
  );
}

interface Reading {
  readonly db: IndexDb;
  readonly context: SqlContext;
  readonly options: FollowOptions;
  readonly state: IngestState;
}

interface Part {
  readonly segment: Segment;
  readonly before: KnownSegment | undefined;
  readonly chainStart: number;
  readonly isLast: boolean;
}

async function readSegment(
  reading: Reading,
  { segment, before, chainStart, isLast }: Part,
): Promise<Omit<KnownSegment, 'ord' | 'chain_start'>> {
  const progress = { consumed: before?.consumed ?? 0, tailStart: before?.tail_start ?? 0 };
  for (const lines of readBatches(segment, { chainStart, progress })) {
    const { conflicts } = await ingest(reading.db, reading.context, { state: reading.state, lines });
    if (conflicts.length > 0) reading.options.onConflicts?.(conflicts);
    await nextTurn();
  }
  const tornBytes = segment.size - progress.consumed;
  const consumed = isLast ? progress.consumed : segment.size;
  const tailStart =
    !isLast && tornBytes > 0 ? Math.max(progress.consumed, consumed - MAX_TAIL_BYTES) : progress.tailStart;
  return {
    name: segment.name,
    identity: segment.identity,
    size: segment.size,
    mtime_ms: segment.mtime_ms,
    consumed,
    ...fingerprint(segment, tailStart, consumed),
  };
}

function fingerprint(
  segment: Segment,
  tailStart: number,
  consumed: number,
): Pick<KnownSegment, 'head_bytes' | 'head_hash' | 'tail_start' | 'tail_hash'> {
  return withSegment(segment, (fd) => {
    const head = readRange(fd, 0, Math.min(HEAD_BYTES, consumed));
    const tail = readRange(fd, tailStart, consumed);
    if (tail.length !== consumed - tailStart)
      throw new ChainMovedError(`${segment.path} is shorter than it was`);
    return {
      head_bytes: head.length,
      head_hash: sha256(head),
      tail_start: tailStart,
      tail_hash: sha256(tail),
    };
  });
}

/** The segment's new lines that may be custody rows, in batches; `progress` moves with what was read. */
function* readBatches(
  segment: Segment,
  {
    chainStart,
    progress,
  }: { readonly chainStart: number; readonly progress: { consumed: number; tailStart: number } },
): Generator<readonly ChainLine[], void> {
  let lines: ChainLine[] = [];
  let bytes = 0;
  for (const block of openBlocks(segment, progress.consumed)) {
    for (const span of findCustodyLines(block.bytes)) {
      lines.push({
        offset: chainStart + block.start + span.start,
        bytes: Buffer.from(block.bytes.subarray(span.start, span.end)),
      });
      bytes += span.end - span.start;
    }
    progress.consumed = block.start + block.bytes.length;
    progress.tailStart = Math.max(
      lastLineStart(block.bytes) + block.start,
      progress.consumed - MAX_TAIL_BYTES,
    );
    if (lines.length < BATCH_LINES && bytes < BATCH_BYTES) continue;
    yield lines;
    lines = [];
    bytes = 0;
  }
  if (lines.length > 0) yield lines;
}

function* openBlocks(segment: Segment, from: number): ReturnType<typeof readLineBlocks> {
  if (from >= segment.size) return;
  const fd = openSegment(segment);
  try {
    yield* readLineBlocks(fd, from, segment.size);
  } finally {
    closeSync(fd);
  }
}

function lastLineStart(lines: Buffer): number {
  return lines.length < 2 ? 0 : lines.lastIndexOf(NEWLINE, lines.length - 2) + 1;
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

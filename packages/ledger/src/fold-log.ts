import { isAscii } from 'node:buffer';
import { closeSync } from 'node:fs';
import type { Segment } from './adapters/jsonl/chain-view.ts';
import { viewChain } from './adapters/jsonl/chain-view.ts';
import { findCustodyLines } from './adapters/jsonl/custody-marks.ts';
import { readLineBlocks } from './adapters/jsonl/line-reader.ts';
import { rootPaths } from './adapters/jsonl/root-paths.ts';
import { openSegment } from './adapters/jsonl/segment-file.ts';
import { CustodyFold } from './core/custody-fold.ts';
import type { LineEvent } from './core/dialect.ts';
import { readFoldedLine } from './core/dialect.ts';
import type { RecordedEvent } from './core/recorded-event.ts';

/** What a log says, folded in memory. */
export interface FoldedLog {
  readonly fold: CustodyFold;
  /** Custody events that were folded; each has the `seq` of its place among them. */
  readonly events: number;
}

/**
 * Folds the log of a data root from its first line, in memory and without an index: nothing is written, nothing is
 * hashed, and the whole custody of the root is held. A custody row whose id was seen is the same event again.
 *
 * @throws StoreError `log_unreadable` if a part of the log can't be read.
 */
export function foldLog(directory: string): FoldedLog {
  const view = viewChain(rootPaths(directory));
  if (!view.readable) throw view.error;
  const fold = new CustodyFold({ tracksChanges: false });
  const seen = new Set<string>();
  let seq = 0;
  let lastAt = '1970-01-01T00:00:00.000Z';
  for (const segment of view.segments) {
    for (const line of lineEvents(segment)) {
      if (line.id !== null && line.dialect === 'custody') {
        if (seen.has(line.id)) continue;
        seen.add(line.id);
      }
      seq += 1;
      lastAt = line.at ?? lastAt;
      fold.apply(toFolded(line, seq, lastAt));
    }
  }
  return { fold, events: seq };
}

/** A fold reads the type, the place, the time and what the writer gave. */
function toFolded(line: LineEvent, seq: number, at: string): RecordedEvent {
  const event = line.given as Record<string, unknown>;
  event['seq'] = seq;
  event['type'] = line.type;
  event['at'] = at;
  return event as unknown as RecordedEvent;
}

function* lineEvents(segment: Segment): Generator<LineEvent, void> {
  const fd = openSegment(segment);
  try {
    for (const block of readLineBlocks(fd, 0, segment.size)) {
      // Bytes below 0x80 are the same text in both encodings, and this one is read without a look at each.
      const encoding = isAscii(block.bytes) ? 'latin1' : 'utf8';
      for (const span of findCustodyLines(block.bytes)) {
        const reading = readFoldedLine(block.bytes.toString(encoding, span.start, span.end));
        if (reading.kind === 'event') yield reading.event;
      }
    }
  } finally {
    closeSync(fd);
  }
}

import type { ContainmentRecord } from '../../core/containment.ts';
import { emptyContainment, foldContainment } from '../../core/containment.ts';
import { readLine, toPlacedEvent } from '../../core/dialect.ts';
import { textOf } from '../../core/json.ts';
import type { RecordedEvent } from '../../core/recorded-event.ts';
import type { Segment } from './chain-view.ts';
import { lookIfThere } from './chain-view.ts';
import { findCustodyLines } from './custody-marks.ts';
import { FIRST_TIME } from './index-tables.ts';
import { readLineBlocks } from './line-reader.ts';
import type { IsOwnProcess } from './lock-file.ts';
import { takeAppendLock } from './log-lock.ts';
import type { RootPaths } from './root-paths.ts';
import { withSegment } from './segment-file.ts';
import { appendDurably, hasTornTail } from './write-lines.ts';

/** Types that a compact file holds; everything else in it is somebody else's. */
const KEPT: ReadonlySet<string> = new Set(['containment.fault', 'containment.resolved']);

/** True for an event that is copied into the compact file. */
export function isCompactType(type: string): boolean {
  return KEPT.has(type);
}

/** The compact file; null if there is none. @throws if it is there and can't be read. */
export function lookAtFaults(paths: RootPaths): Segment | null {
  return lookIfThere('logs/containment_faults.jsonl', paths.faults);
}

/** The fault and resolution rows of the compact file, in its order. @throws if it is there and can't be read. */
export function readCompactFaults(paths: RootPaths): readonly RecordedEvent[] {
  const file = lookAtFaults(paths);
  if (file === null) return [];
  return withSegment(file, (fd) => {
    const events: RecordedEvent[] = [];
    for (const block of readLineBlocks(fd, 0, file.size)) {
      for (const { start, end } of findCustodyLines(block.bytes))
        collect(block.bytes.toString('utf8', start, end), events);
    }
    return events;
  });
}

function collect(text: string, events: RecordedEvent[]): void {
  const reading = readLine(text);
  if (reading.kind !== 'event' || !KEPT.has(reading.event.type)) return;
  const previousAt = events.at(-1)?.at ?? FIRST_TIME;
  events.push(
    toPlacedEvent(reading.event, { seq: 0, id: reading.event.id ?? '', hash: '', epoch: 0, previousAt })
      .event,
  );
}

/**
 * Adds what the compact file says to what the chain says. Whichever is newer wins: a row may have landed in
 * only one of them.
 */
export function withCompactFaults(
  chain: ReadonlyMap<string, ContainmentRecord>,
  rows: readonly RecordedEvent[],
): ReadonlyMap<string, ContainmentRecord> {
  const records = new Map(chain);
  for (const row of rows) {
    const runId = textOf(row, 'run_id');
    if (runId !== '') records.set(runId, foldContainment(records.get(runId) ?? emptyContainment(runId), row));
  }
  return records;
}

/** Appends rows to the compact file, under its own append lock. */
export async function appendCompactFaults(
  paths: RootPaths,
  lines: Buffer,
  isOwn: IsOwnProcess,
): Promise<void> {
  const lock = await takeAppendLock(paths.faults, isOwn);
  try {
    appendDurably(
      paths.faults,
      hasTornTail(paths.faults) ? Buffer.concat([Buffer.from('\n'), lines]) : lines,
    );
  } finally {
    lock.release();
  }
}

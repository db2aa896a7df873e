import { closeSync, mkdirSync, openSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { compareCodePoints } from '../../core/json.ts';
import { syncFolder } from './durable-file.ts';
import { unwritableLog } from './log-lock.ts';
import type { RootPaths } from './root-paths.ts';
import { SEGMENT_NAME } from './root-paths.ts';

/** A live log of this many bytes is rotated before the next append. */
const ROTATE_BYTES = 800_000;

/**
 * Moves a full live log into the archive and starts a new one. The caller holds the append lock.
 *
 * @throws StoreError `log_unreadable` if the archive can't take it.
 */
export function rotateLog(paths: RootPaths, nowMs: number): void {
  if ((statSync(paths.live, { throwIfNoEntry: false })?.size ?? 0) < ROTATE_BYTES) return;
  try {
    moveToArchive(paths, nowMs);
  } catch (cause) {
    throw unwritableLog(paths.archive, cause);
  }
}

function moveToArchive(paths: RootPaths, nowMs: number): void {
  mkdirSync(paths.archive, { recursive: true });
  const names = readdirSync(paths.archive)
    .filter((name) => SEGMENT_NAME.test(name))
    .sort(compareCodePoints);
  renameSync(paths.live, join(paths.archive, segmentName(nowMs, names.at(-1) ?? '')));
  closeSync(openSync(paths.live, 'a', 0o644));
  syncFolder(paths.archive);
  syncFolder(paths.logs);
}

/**
 * The name of a new segment: the time of its rotation, and behind every name that is there, because the order
 * of names is the order of the log. A second rotation in one second, or a clock that was set back, counts on.
 */
export function segmentName(nowMs: number, newest: string): string {
  const stamp = new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
  const name = `events_${stamp}.jsonl`;
  if (compareCodePoints(name, newest) > 0) return name;
  const [, stem = '', count = '0'] = /^(.*?)(?:_(\d))?\.jsonl$/s.exec(newest) ?? [];
  // `_10` would stand before `_2`; after `_9` the count goes on one level deeper.
  return count === '9' ? `${stem}_9_1.jsonl` : `${stem}_${Number(count) + 1}.jsonl`;
}

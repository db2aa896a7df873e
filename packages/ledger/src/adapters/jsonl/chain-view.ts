import type { Stats } from 'node:fs';
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { compareCodePoints } from '../../core/json.ts';
import { StoreError } from '../../errors.ts';
import { isMissing } from './fs-error.ts';
import type { RootPaths } from './root-paths.ts';
import { SEGMENT_NAME } from './root-paths.ts';

/** One file of the log as it stood at one moment. */
export interface Segment {
  /** Relative to the root. */
  readonly name: string;
  readonly path: string;
  /** Device and inode: a rotation renames a segment, and it stays the same one. */
  readonly identity: string;
  readonly size: number;
  /** Milliseconds with a fraction; as exact as the host tells it. */
  readonly mtime_ms: number;
}

/** The log as a chain of segments, oldest first; or why a part of it can't be read. */
export type ChainView =
  | { readonly readable: true; readonly segments: readonly Segment[] }
  | { readonly readable: false; readonly error: StoreError };

/** A segment is renamed while it is looked for; more often than this it is not a rotation. */
const MAX_ATTEMPTS = 5;

/**
 * Looks at the chain without reading it. The live file comes first and then the archive, so that a rotation in
 * between shows a segment twice and never not at all; the second sight of an inode is dropped.
 */
export function viewChain(paths: RootPaths): ChainView {
  let failure: unknown = null;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    try {
      return { readable: true, segments: lookOnce(paths) };
    } catch (error) {
      failure = error;
      // A segment that was listed and is gone was moved; everything else will not heal by looking again.
      if (!isMissing(error)) break;
    }
  }
  return { readable: false, error: unreadableLog(paths.root, failure) };
}

/** The error of an operation that needs the whole log. */
export function unreadableLog(root: string, cause: unknown): StoreError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StoreError('log_unreadable', `a part of the log under ${root} can't be read: ${reason}`, {
    hint: 'Make the named file or folder readable; nothing was changed.',
    facts: { path: root },
    cause,
  });
}

function lookOnce(paths: RootPaths): readonly Segment[] {
  const live = lookIfThere('logs/events.jsonl', paths.live);
  const archived = archiveNames(paths).map((name) => lookAt(`archive/${name}`, join(paths.archive, name)));
  const seen = new Set<string>();
  const segments: Segment[] = [];
  for (const segment of live === null ? archived : [...archived, live]) {
    if (seen.has(segment.identity)) continue;
    seen.add(segment.identity);
    segments.push(segment);
  }
  return segments;
}

/** Looks at a file that may be missing. @throws as {@link lookAt} does. */
export function lookIfThere(name: string, path: string): Segment | null {
  try {
    return lookAt(name, path);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

function archiveNames(paths: RootPaths): readonly string[] {
  try {
    return readdirSync(paths.archive)
      .filter((name) => SEGMENT_NAME.test(name))
      .sort(compareCodePoints);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Looks at one file. @throws if it can't be opened, or is no file. */
export function lookAt(name: string, path: string): Segment {
  const stat = statSync(path);
  if (!stat.isFile()) throw new Error(`${path} is not a file`);
  if (!isReadableByMode(stat)) accessSync(path, constants.R_OK);
  return { name, path, identity: `${stat.dev}:${stat.ino}`, size: stat.size, mtime_ms: stat.mtimeMs };
}

/** Asked for each segment at each look, so the host is asked only where the mode does not say yes. */
function isReadableByMode({ uid, gid, mode }: Stats): boolean {
  const [user, groups] = [process.geteuid?.(), process.getgroups?.()];
  if (user === undefined || groups === undefined) return false;
  if (user === 0) return true;
  if (uid === user) return (mode & constants.S_IRUSR) !== 0;
  if (groups.includes(gid)) return (mode & constants.S_IRGRP) !== 0;
  return (mode & constants.S_IROTH) !== 0;
}

import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { VerifyProblem } from '../../ports/ledger-store.ts';
import type { SqlContext } from '../sql/tables.ts';
import type { Segment } from './chain-view.ts';
import { compareIndexes } from './compare-index.ts';
import { isUnchanged } from './follow-log.ts';
import type { IndexDb } from './index-tables.ts';
import type { JsonlContext } from './jsonl-context.ts';
import { openIndexFile } from './open-index.ts';
import type { RootPaths } from './root-paths.ts';

/** What comparing the index with a replay found. */
export interface StoredFindings {
  readonly problems: readonly VerifyProblem[];
  readonly notes: readonly VerifyProblem[];
}

/** Compares the index that is there with a replay; one that is not up to date is caught up by its next reader anyway. */
export async function compareStored(
  context: JsonlContext,
  replay: SqlContext,
  segments: readonly Segment[],
): Promise<StoredFindings> {
  const compare = (stored: SqlContext) => compareIfCurrent(stored, replay, segments);
  if (!context.readOnly) return context.index.readUnsynced(compare);
  if (!existsSync(context.paths.index)) return { problems: [], notes: [] };
  try {
    return await withCopy(context.paths, compare);
  } catch (error) {
    const message = `the index can't be read and will be made anew: ${error instanceof Error ? error.message : String(error)}`;
    return { problems: [], notes: [{ code: 'index_unreadable', message, file: context.paths.index }] };
  }
}

async function compareIfCurrent(
  stored: SqlContext,
  replay: SqlContext,
  segments: readonly Segment[],
): Promise<StoredFindings> {
  const known = await (stored.reader as unknown as IndexDb)
    .selectFrom('log_segment')
    .selectAll()
    .orderBy('ord')
    .execute();
  if (isUnchanged(known, segments)) return { problems: await compareIndexes(stored, replay), notes: [] };
  return {
    problems: [],
    notes: [
      {
        code: 'index_behind',
        message: 'the index does not show the log as it stands; its next reader brings it up',
      },
    ],
  };
}

/** Opening a database may write beside it, so a store that was opened for reading only is looked at in a copy. */
async function withCopy<T>(paths: RootPaths, work: (stored: SqlContext) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'custody-verify-'));
  try {
    const copy = join(folder, 'custody.db');
    for (const suffix of ['', '-wal'])
      if (existsSync(paths.index + suffix)) copyFileSync(paths.index + suffix, copy + suffix);
    const index = await openIndexFile(copy, () => '');
    try {
      return await work(index.context);
    } finally {
      await index.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

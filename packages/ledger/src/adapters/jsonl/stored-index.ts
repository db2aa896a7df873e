import type { VerifyProblem } from '../../ports/ledger-store.ts';
import type { SqlContext } from '../sql/tables.ts';
import type { Segment } from './chain-view.ts';
import { compareIndexes } from './compare-index.ts';
import { isUnchanged } from './follow-log.ts';
import { openIndexCopy } from './index-copy.ts';
import type { IndexDb } from './index-tables.ts';
import type { JsonlContext } from './jsonl-context.ts';
import { isIndexDamage } from './open-index.ts';

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
  if (!context.readOnly)
    return context.index.readUnsynced((stored) => compareIfCurrent(stored, replay, segments));
  try {
    const copy = await openIndexCopy(context.paths, context.newId);
    if (copy === null) return { problems: [], notes: [] };
    try {
      return await compareIfCurrent(copy.context, replay, segments);
    } finally {
      await copy.close();
    }
  } catch (error) {
    if (!isIndexDamage(error)) throw error;
    const note = {
      code: 'index_unreadable',
      message: 'the index is damaged; its next writer makes it anew',
      file: context.paths.index,
    };
    return { problems: [], notes: [note] };
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

import { custodyRows, readChain } from './chain.ts';
import type { Invocation } from './fold-invocations.ts';
import { foldInvocations } from './fold-invocations.ts';
import type { Run } from './fold-runs.ts';
import { foldRuns } from './fold-runs.ts';
import type { JsonObject } from './json.ts';
import { text } from './json.ts';

/** All that the log of a data root says, by a full replay. */
export interface Fold {
  readonly isReadable: boolean;
  /** The custody rows that name a task themselves, by that task, in chain order. */
  readonly rowsOfTask: ReadonlyMap<string, readonly JsonObject[]>;
  /** By run id, in the order of the first STARTED row. */
  readonly runs: ReadonlyMap<string, Run>;
  /** By invocation id, in the order of the first START_REQUESTED row. */
  readonly invocations: ReadonlyMap<string, Invocation>;
}

/** Replays the log of a data root from zero. */
export function foldRoot(root: string): Fold {
  const chain = readChain(root);
  return { ...foldRows(custodyRows(chain)), isReadable: chain !== null };
}

/** Folds custody rows that stand in chain order. */
export function foldRows(rows: readonly JsonObject[]): Fold {
  return {
    isReadable: true,
    rowsOfTask: groupByTask(rows),
    runs: foldRuns(rows),
    invocations: foldInvocations(rows),
  };
}

/** Whether a run or an invocation belongs to a review panel and is no debt of its task. */
export function isReviewOwned(record: { readonly source: string }): boolean {
  return record.source.startsWith('review_substrate');
}

function groupByTask(rows: readonly JsonObject[]): Map<string, JsonObject[]> {
  const groups = new Map<string, JsonObject[]>();
  for (const row of rows) {
    const taskId = text(row, 'task_id');
    const group = groups.get(taskId);
    if (group !== undefined) group.push(row);
    else if (taskId !== '') groups.set(taskId, [row]);
  }
  return groups;
}

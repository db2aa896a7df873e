import type { TaskRow } from '@custody/ledger';
import { isJsonObject, isTerminalStatus, textOf } from '@custody/ledger';

/** How somebody meant a task to end. Behind one of these, and nothing else, work of the task may be stopped. */
export type OwnerVerdict = 'ok' | 'degraded' | 'best_effort' | 'failed' | 'cancelled';

const DELIBERATE: ReadonlySet<string> = new Set<OwnerVerdict>([
  'ok',
  'degraded',
  'best_effort',
  'failed',
  'cancelled',
]);

/**
 * Reads a deliberate end from the task's row (docs/contracts/custody.md, 8.2); null if nobody meant the end: the
 * row is missing, not terminal, or its execution axis tells of a crash or of nothing.
 *
 * A row without any axes is judged by its status where that status can only be meant: `failed`, and `cancelled`,
 * which no crash writes.
 */
export function ownerVerdict(row: TaskRow | null): OwnerVerdict | null {
  if (row === null || !isTerminalStatus(row.status)) return null;
  const axes = row.value['outcome_axes'];
  if (axes === undefined || axes === null) {
    return row.status === 'failed' || row.status === 'cancelled' ? row.status : null;
  }
  const execution = isJsonObject(axes) ? axes['execution'] : null;
  const status = isJsonObject(execution) ? textOf(execution, 'status') : '';
  return isVerdict(status) ? status : null;
}

/** True if the verdict speaks for the run. For a run of a review panel only a cancellation does. */
export function mayStop(verdict: OwnerVerdict | null, isReviewRun: boolean): boolean {
  return isReviewRun ? verdict === 'cancelled' : verdict !== null;
}

function isVerdict(status: string): status is OwnerVerdict {
  return DELIBERATE.has(status);
}

import type { Oracle } from '@custody/cli/simulation';
import { auditOf } from '../oracle/audit.ts';
import { foldRows } from '../oracle/fold.ts';
import { rowsOf } from '../oracle/from-events.ts';
import { healed } from '../oracle/heal.ts';
import { text } from '../oracle/json.ts';
import { foldManaged } from '../oracle/managed.ts';

/** A replay that shares no code with the ledger. */
export const naiveOracle: Oracle = (events) => {
  const fold = foldRows(rowsOf(events));
  return {
    unreconciled: (taskId) => auditOf(fold, taskId, 'audit')['unreconciled'] as readonly string[],
    isTrue: (row) =>
      healed(fold, { ...row }, { taskId: text({ ...row }, 'task_id'), trigger: 'audit' }) === null,
    managed: foldManaged(events.map((event) => ({ ...event }))),
  };
};

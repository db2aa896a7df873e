import type { JsonObject, RecordedEvent } from '@custody/ledger';
import { CustodyFold, evidenceOf, parseTaskRow, taskCustodyOf } from '@custody/ledger';
import { audit, auditSource, planHeal } from '@custody/reconciler';

/** Where a managed task stands, as far as a replay tells. */
export interface ReplayedTask {
  readonly status: string;
  readonly current_run_id: string | null;
  /** Outcome by run, oldest first; null while it is open. */
  readonly outcomes: readonly (readonly [string, string | null])[];
}

/** A replay of a whole log, which the ledger's answers are held against. */
export interface Replay {
  /** What the task owes, as it stands in an audit. */
  unreconciled(taskId: string): readonly string[];
  /** True if a healer would leave the row as it is. */
  isTrue(row: JsonObject): boolean;
  /** Where managed tasks stand; null if this replay does not know. */
  readonly managed: ReadonlyMap<string, ReplayedTask> | null;
}

/** Makes a replay of a log. */
export type Oracle = (events: readonly RecordedEvent[]) => Replay;

/** A replay by the ledger's own fold, from nothing: right if the parts are, whatever was kept between them. */
export const foldOracle: Oracle = (events) => {
  const fold = new CustodyFold();
  for (const event of events) fold.apply(event);
  const auditOf = (taskId: string) => audit(taskId, 'audit', auditSource(taskCustodyOf(fold, taskId)));
  return {
    unreconciled: (taskId) => auditOf(taskId).unreconciled,
    isTrue: (value) => {
      const row = parseTaskRow(JSON.stringify(value));
      const custody = taskCustodyOf(fold, row.task_id);
      const plan = planHeal({
        row,
        custody,
        audit: auditOf(row.task_id),
        evidence: evidenceOf(custody, true),
      });
      return plan.kind !== 'heal';
    },
    managed: null,
  };
};

import type { ContainmentRecord } from '../core/containment.ts';
import type { InvocationRecord } from '../core/invocation.ts';
import type { TaskCustody } from '../core/obligations.ts';
import type { RunRecord } from '../core/run-record.ts';

/** What a whole ledger owes now. */
export interface CustodyDebts {
  readonly open_runs: number;
  readonly pending_invocations: number;
  readonly undisposed_patches: number;
  /** `at` of the oldest start, request or settle that still owes something; null when nothing is owed. */
  readonly oldest_unreconciled_at: string | null;
}

/** Current debts of a whole ledger, and how much it holds. */
export interface CustodyTotals extends CustodyDebts {
  readonly events: number;
  readonly runs: number;
}

/** Reads what the log says now, by key. The answers always equal a full replay. */
export interface CustodyReader {
  /** False when a part of the log exists but can't be read; audits then fail closed. */
  isReadable(): Promise<boolean>;
  /** What is known of each task, of one moment. A task without events is there too, empty. */
  tasks(taskIds: readonly string[]): Promise<ReadonlyMap<string, TaskCustody>>;
  run(runId: string): Promise<RunRecord | null>;
  invocation(invocationId: string): Promise<InvocationRecord | null>;
  /** Every open run, in the order of their starts. */
  openRuns(): Promise<readonly RunRecord[]>;
  /** Every invocation that waits for its outcome, in the order of their requests. */
  pendingInvocations(): Promise<readonly InvocationRecord[]>;
  /** Ids of the tasks that owe something, by code point. */
  owingTaskIds(): Promise<readonly string[]>;
  /** Containment faults that nothing newer closed, by run id. */
  openFaults(): Promise<readonly ContainmentRecord[]>;
  /** What is owed; costs what is owed, whatever the history. */
  debts(): Promise<CustodyDebts>;
  /** What is owed and what there is: counts every run. */
  totals(): Promise<CustodyTotals>;
}

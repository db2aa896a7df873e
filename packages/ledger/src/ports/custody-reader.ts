import type { ContainmentRecord } from '../core/containment.ts';
import type { InvocationRecord } from '../core/invocation.ts';
import type { TaskCustody } from '../core/obligations.ts';
import type { RunRecord } from '../core/run-record.ts';

/** Current debts of a whole ledger. */
export interface CustodyTotals {
  readonly events: number;
  readonly runs: number;
  readonly open_runs: number;
  readonly pending_invocations: number;
  readonly undisposed_patches: number;
  /** `at` of the oldest start, request or settle that still owes something; null when nothing is owed. */
  readonly oldest_unreconciled_at: string | null;
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
  totals(): Promise<CustodyTotals>;
}

import type { Question } from '../questions/question.ts';
import type { RecordedEvent } from '../recorded-event.ts';
import type { ExecutionEvidence } from '../run-evidence.ts';
import type { Lease, ManagedTask, Submission } from './managed-task.ts';

/** Times and limits of a ledger, kept in its store so that every process goes by the same ones. */
export interface ManagedSettings {
  /** How long a claim is good for without a sign of life, in milliseconds. @default 15 minutes */
  readonly lease_ttl_ms: number;
  /** How long a run is left alone after its start although its holder seems gone. @default 2 minutes */
  readonly crash_grace_ms: number;
  /** How long after its last report a run is left alone: it may be parking just now. @default 5 seconds */
  readonly park_settle_ms: number;
  /** Failures in a row after which a task is blocked. @default 2 */
  readonly failure_limit: number;
}

/** What holds while nobody set anything. */
export const DEFAULT_SETTINGS: ManagedSettings = {
  lease_ttl_ms: 900_000,
  crash_grace_ms: 120_000,
  park_settle_ms: 5_000,
  failure_limit: 2,
};

/** Which records a decision needs. The named tasks come with their parents and their leases. */
export interface ScopeRequest {
  readonly taskIds: readonly string[];
  /** The run whose task is needed too. */
  readonly runId?: string;
  /** Also the children of the named tasks, with all their parents. */
  readonly children?: boolean;
  /** Also everything that the named tasks wait for, through all generations. */
  readonly ancestors?: boolean;
  /** Also whether rows with these ids exist. */
  readonly rows?: boolean;
  /** Also what the log says of the runs that the named tasks started. */
  readonly evidence?: boolean;
  readonly idempotencyKey?: string;
  /** The question that is needed, with the task that it belongs to. */
  readonly questionId?: string;
  /** Also the tasks that this holder could be given. */
  readonly claimableBy?: string;
  /** The event of this id, if it is there, with the task that it is about. */
  readonly eventId?: string;
  /** The types of the event that says that the command was carried out; absent if doing it again changes nothing. */
  readonly effect?: readonly string[];
}

/** What a decision may read: one moment of the store, under its write lock. */
export interface ManagedScope {
  /** The store's clock, in milliseconds since the Unix epoch. */
  readonly now: number;
  readonly settings: ManagedSettings;
  /** The task that the requested run belongs to; null if no such run is known. */
  readonly runOwner: string | null;
  /** The requested event; null if there is none of that id. */
  readonly knownEvent: RecordedEvent | null;
  /** The oldest ready task of the highest priority, then tasks whose holder may be gone. */
  readonly candidates: readonly string[];
  taskOf(taskId: string): ManagedTask | null;
  leaseOf(taskId: string): Lease | null;
  childrenOf(taskId: string): readonly ManagedTask[];
  submissionOf(idempotencyKey: string): Submission | null;
  questionOf(questionId: string): Question | null;
  /** The questions of a named task that are not answered, or whose answer no run has heard, oldest first. */
  questionsOf(taskId: string): readonly Question[];
  evidenceOf(taskId: string): ExecutionEvidence;
  /** True if a row of that id is there, also one that is not ours. */
  hasRow(taskId: string): boolean;
}

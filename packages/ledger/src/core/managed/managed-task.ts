import type { JsonObject, JsonValue } from '../json.ts';
import type { ExecutionEvidence } from '../run-evidence.ts';
import type { IsoTime } from '../time.ts';

/** Where a managed task stands. The last three are terminal. */
export type TaskStatus =
  | 'triage'
  | 'todo'
  | 'scheduled'
  | 'ready'
  | 'running'
  | 'blocked'
  | 'review'
  | 'completed'
  | 'failed'
  | 'cancelled';

/** How an attempt ended. */
export const RUN_OUTCOMES = [
  'completed',
  'blocked',
  'parked',
  'reclaimed',
  'crashed',
  'rate_limited',
  'timed_out',
  'stale',
  'stopped',
  'spawn_failed',
  'gave_up',
  'cancelled',
  'failed',
] as const;

/** One of {@link RUN_OUTCOMES}. */
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

/** Why a task is blocked; a block without a kind is for anything else. */
export const BLOCK_KINDS = ['dependency', 'needs_input', 'capability', 'transient'] as const;

/** One of {@link BLOCK_KINDS}. */
export type BlockKind = (typeof BLOCK_KINDS)[number];

/**
 * A process beyond doubt: a pid alone is given to the next process once its own has ended. The same names as in the
 * field `process` of a `run.started`.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in clock ticks since the boot. */
  readonly started_at_ticks: number;
  readonly boot_id: string;
  /** Tells a reboot of this machine from a process of another one. */
  readonly machine_id?: string | undefined;
  /** A container's pids mean nothing outside of it. */
  readonly pid_namespace?: string | undefined;
}

/** One attempt at a task: the run that holds it, or held it. */
export interface Attempt {
  readonly run_id: string;
  /** `seq` of its start. The attempt with the greatest one is the latest. */
  readonly start_seq: number;
  /** The fence that its writes must carry: `seq` of the event that granted the lease last. */
  readonly fence: number;
  /** A name for people; it proves nothing. */
  readonly holder: string;
  readonly assignee: string | null;
  readonly started_at: IsoTime;
  readonly ended_at: IsoTime | null;
  /** `seq` of the event that closed it; 0 while open. A replay does not move it. */
  readonly ended_seq: number;
  readonly outcome: RunOutcome | null;
  /** How it had ended before a replay made it the completion. */
  readonly prior_outcome: RunOutcome | null;
  readonly summary: string | null;
  readonly error: string | null;
  readonly metadata: JsonObject | null;
  /** True for the zero-length run of an end that nobody had claimed. */
  readonly synthesized: boolean;
  /** True if an operator took the task away from it (a manual reclaim, an archive): it may never be replayed. */
  readonly operator_released: boolean;
  /** The state that it reported last. */
  readonly state: string | null;
  readonly pushed_at: IsoTime | null;
  readonly answers_injected: number;
  readonly resume_notice: string | null;
  readonly resume_since: string | null;
}

/** Everything that follows from the events of one managed task. */
export interface ManagedTask {
  readonly task_id: string;
  readonly title: string;
  readonly body: string | null;
  readonly status: TaskStatus;
  readonly assignee: string | null;
  readonly priority: number;
  readonly created_by: string | null;
  /** `seq` of its creation; orders tasks of one priority. */
  readonly created_seq: number;
  readonly created_at: IsoTime;
  readonly updated_at: IsoTime;
  /** The first start ever. */
  readonly started_at: IsoTime | null;
  /** When it ended, in whichever way. */
  readonly completed_at: IsoTime | null;
  /** Tasks that must be done first. */
  readonly parents: readonly string[];
  readonly current_run_id: string | null;
  /** The run that the completion is bound to; provenance by identity, never by the result's bytes. */
  readonly completed_run_id: string | null;
  /** Hash of what was accepted as the completion. */
  readonly completed_hash: string | null;
  readonly result: JsonValue;
  readonly summary: string | null;
  readonly metadata: JsonObject | null;
  readonly reason_code: string | null;
  readonly error: string | null;
  readonly block_kind: BlockKind | null;
  readonly block_recurrences: number;
  /** The question that was raised last, answered or not. */
  readonly newest_question_id: string | null;
  /** The question that a run of the task was parked on; null once the task goes on. */
  readonly parked_on: string | null;
  readonly consecutive_failures: number;
  readonly last_failure_error: string | null;
  /** Failures in a row after which the task is blocked; null = the ledger's limit. */
  readonly max_retries: number | null;
  /** True once it was split into children; it stays so for ever. */
  readonly decomposed: boolean;
  readonly archived: boolean;
  /** What the log said of its delegated runs when it ended; null while it has not. */
  readonly evidence: ExecutionEvidence | null;
  /** `seq` of the newest event that somebody acted by on the task; comments and the like are no acts. */
  readonly changed_seq: number;
  /** `seq` of the newest new parent. */
  readonly linked_seq: number;
  /** Attempts in the order of their starts. */
  readonly runs: readonly Attempt[];
}

/** Who holds a task, and until when. The row of a task is never deleted: it keeps the fence. */
export interface Lease {
  readonly task_id: string;
  readonly run_id: string;
  readonly fence: number;
  readonly holder: string;
  /** How long a sign of life is good for, in milliseconds. */
  readonly ttl_ms: number;
  /** False once its run ended. */
  readonly open: boolean;
  /** `recorded_at` of the start of its run, in milliseconds. */
  readonly started_at_ms: number;
  readonly expires_at_ms: number;
  /** The last sign of life; null before the first. Not in the log: a rebuild does not restore it. */
  readonly heartbeat_at_ms: number | null;
  /** The process that a reclaim stops; null when none was named. */
  readonly process: ProcessIdentity | null;
}

/** What was handed in under an idempotency key. Kept as long as the task. */
export interface Submission {
  readonly idempotency_key: string;
  readonly task_id: string;
  readonly run_id: string;
  readonly seq: number;
  readonly value: JsonValue;
}

/** The attempt with an id, if the task has it. */
export function attemptOf(task: ManagedTask, runId: string): Attempt | null {
  return task.runs.find((run) => run.run_id === runId) ?? null;
}

/** The attempt that started last. */
export function latestAttempt(task: ManagedTask): Attempt | null {
  return task.runs.at(-1) ?? null;
}

const TERMINAL: ReadonlySet<TaskStatus> = new Set(['completed', 'failed', 'cancelled']);

/** True for a status that a task can't leave. */
export function isEnded(task: Pick<ManagedTask, 'status'>): boolean {
  return TERMINAL.has(task.status);
}

/** True if children need not wait for the task any more. */
export function isDone(task: Pick<ManagedTask, 'status' | 'archived'> | null): boolean {
  return task !== null && (task.status === 'completed' || task.archived);
}

import type { JsonObject } from '../core/json.ts';
import type { Attempt } from '../core/managed/managed-task.ts';
import type { RunRecord } from '../core/run-record.ts';
import type { CustodyReader } from '../ports/custody-reader.ts';
import type { ManagedStore } from '../ports/managed-store.ts';

/** One run of a task, as `run list` shows it. */
export interface RunReport {
  readonly run_id: string;
  readonly role: 'attempt' | 'delegate';
  /** How it ended, in a word; null while it is open, or if nobody said. */
  readonly outcome: string | null;
  /** What it reported last while it is open, else `ended`. */
  readonly state: string;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly holder: string | null;
  readonly summary: string | null;
  readonly fence: number | null;
  readonly synthesized: boolean;
  readonly answers_injected: number;
  readonly resume_notice: string | null;
  readonly resume_since: string | null;
  readonly error: string | null;
  readonly metadata: JsonObject | null;
}

/** Every run of a task, oldest first. */
export async function listRuns(
  store: ManagedStore,
  custody: CustodyReader,
  taskId: string,
): Promise<readonly RunReport[]> {
  const task = (await store.read({ taskIds: [taskId] })).taskOf(taskId);
  const records = (await custody.tasks([taskId])).get(taskId)?.runs ?? [];
  const attempts = (task?.runs ?? []).map((run) => ({ seq: run.start_seq, report: toAttemptReport(run) }));
  const others = records
    .filter((run) => !run.managed)
    .map((run) => ({ seq: run.first_seq, report: toRunReport(run) }));
  return [...attempts, ...others].sort((a, b) => a.seq - b.seq).map((item) => item.report);
}

function toAttemptReport(run: Attempt): RunReport {
  return {
    run_id: run.run_id,
    role: 'attempt',
    outcome: run.outcome,
    state: run.ended_at === null ? (run.state ?? 'running') : 'ended',
    started_at: run.started_at,
    ended_at: run.ended_at,
    holder: run.holder,
    summary: run.summary,
    fence: run.fence,
    synthesized: run.synthesized,
    answers_injected: run.answers_injected,
    resume_notice: run.resume_notice,
    resume_since: run.resume_since,
    error: run.error,
    metadata: run.metadata,
  };
}

/** Any run as it is shown; an attempt at a managed task brings what only its task knows. */
export function toRunReport(run: RunRecord, attempt: Attempt | null = null): RunReport {
  if (attempt !== null) return toAttemptReport(attempt);
  return {
    run_id: run.run_id,
    role: run.role,
    outcome: run.terminal_state === '' ? null : run.terminal_state,
    state: run.settled ? 'ended' : 'running',
    started_at: run.started_at,
    ended_at: run.settled ? run.settled_at : null,
    holder: null,
    summary: null,
    fence: null,
    synthesized: false,
    answers_injected: 0,
    resume_notice: null,
    resume_since: null,
    error: run.terminal_reason === '' ? null : run.terminal_reason,
    metadata: null,
  };
}

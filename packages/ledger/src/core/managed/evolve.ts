import type { JsonObject } from '../json.ts';
import type { ClaimedEvent, ManagedEvent } from './managed-event.ts';
import type { Attempt, ManagedTask, RunOutcome } from './managed-task.ts';
import { isDone } from './managed-task.ts';

type Of<T extends ManagedEvent['type']> = Extract<ManagedEvent, { readonly type: T }>;

/** Events that nobody acts by: a replay of an ended run may follow them. */
const NEUTRAL: ReadonlySet<ManagedEvent['type']> = new Set([
  'task.commented',
  'task.gave_up',
  'task.linked',
  'question.raised',
  'verdict.delivered',
  'run.pushed',
  'run.submitted',
  'claim.extended',
  'claim.deferred',
  'lease.restamped',
]);

/** What is shown of an error; the whole text stays in the event. */
const MAX_ERROR = 500;

/**
 * Applies one event of a managed task. Null before its creation; an event of a task that was never created
 * changes nothing.
 */
export function evolve(task: ManagedTask | null, event: ManagedEvent): ManagedTask | null {
  if (event.type === 'task.created') return task ?? create(event);
  if (task === null) return null;
  const next = apply(task, event);
  return NEUTRAL.has(event.type) ? next : { ...next, changed_seq: event.seq };
}

/** A task of which nothing is known; every field has the value that it has until an event sets it. */
export function emptyTask(): ManagedTask {
  return {
    task_id: '',
    title: '',
    body: null,
    status: 'todo',
    assignee: null,
    priority: 0,
    created_by: null,
    created_seq: 0,
    created_at: '',
    updated_at: '',
    started_at: null,
    completed_at: null,
    parents: [],
    current_run_id: null,
    completed_run_id: null,
    completed_hash: null,
    result: null,
    summary: null,
    metadata: null,
    reason_code: null,
    error: null,
    block_kind: null,
    block_recurrences: 0,
    newest_question_id: null,
    parked_on: null,
    consecutive_failures: 0,
    last_failure_error: null,
    max_retries: null,
    decomposed: false,
    archived: false,
    evidence: null,
    changed_seq: 0,
    linked_seq: 0,
    runs: [],
  };
}

function create(event: Of<'task.created'>): ManagedTask {
  return {
    ...emptyTask(),
    task_id: event.task_id,
    title: event.title,
    body: event.body ?? null,
    status: event.status,
    assignee: event.assignee ?? null,
    priority: event.priority,
    created_by: event.created_by ?? null,
    created_seq: event.seq,
    created_at: event.recorded_at,
    updated_at: event.recorded_at,
    parents: event.parents,
    max_retries: event.max_retries ?? null,
    changed_seq: event.seq,
  };
}

function apply(task: ManagedTask, event: Exclude<ManagedEvent, Of<'task.created'>>): ManagedTask {
  switch (event.type) {
    case 'task.linked':
      return {
        ...touched(task, event),
        parents: [...task.parents, event.parent_id],
        linked_seq: event.seq,
        status: event.status ?? task.status,
      };
    case 'task.assigned':
      return {
        ...touched(task, event),
        assignee: event.assignee,
        consecutive_failures: 0,
        last_failure_error: null,
      };
    case 'task.commented':
    case 'run.submitted':
    case 'claim.extended':
    case 'claim.deferred':
      return task;
    case 'task.unblocked':
      return {
        ...touched(task, event),
        status: event.status,
        consecutive_failures: 0,
        last_failure_error: null,
      };
    case 'task.specified':
      return specify(task, event);
    case 'task.decomposed':
      return {
        ...touched(task, event),
        status: 'todo',
        decomposed: true,
        assignee: event.root_assignee ?? task.assignee,
        parents: [...task.parents, ...event.child_ids],
      };
    case 'task.promoted':
      return { ...touched(task, event), status: 'ready' };
    case 'task.blocked':
    case 'task.block_loop_detected':
    case 'task.dependency_wait':
      return block(task, event);
    case 'task.completed':
      return complete(task, event);
    case 'task.failed':
    case 'task.cancelled':
    case 'task.archived':
      return end(task, event);
    case 'task.gave_up':
      return { ...touched(task, event), status: 'blocked' };
    case 'run.started':
      return start(task, event);
    case 'question.raised':
      return { ...task, newest_question_id: event.question_id };
    case 'question.answered':
      return answered(task, event);
    case 'verdict.delivered':
      return event.mode === 'notice'
        ? task
        : withRun(task, event.run_id, (run) => ({ answers_injected: run.answers_injected + 1 }));
    case 'run.parked':
      return park(task, event);
    case 'run.pushed':
      return withRun(task, event.run_id, () => ({ state: event.state, pushed_at: event.recorded_at }));
    case 'lease.restamped':
      return withRun(task, event.run_id, () => ({ fence: event.seq }));
    case 'run.ended':
    case 'claim.reclaimed':
      return release(task, event);
  }
}

function touched(task: ManagedTask, event: ManagedEvent): ManagedTask {
  return { ...task, updated_at: event.recorded_at };
}

function withRun(task: ManagedTask, runId: string, change: (run: Attempt) => Partial<Attempt>): ManagedTask {
  return { ...task, runs: task.runs.map((run) => (run.run_id === runId ? { ...run, ...change(run) } : run)) };
}

function specify(task: ManagedTask, event: Of<'task.specified'>): ManagedTask {
  return {
    ...touched(task, event),
    status: 'todo',
    title: event.title ?? task.title,
    body: event.body ?? task.body,
    assignee: event.assignee ?? task.assignee,
  };
}

/** An end that nobody had claimed gets a run without length; the task itself is changed by its closing event. */
function start(task: ManagedTask, event: ClaimedEvent): ManagedTask {
  const { claim } = event;
  const run: Attempt = {
    run_id: event.run_id,
    start_seq: event.seq,
    fence: event.seq,
    holder: claim.holder,
    assignee: claim.assignee ?? task.assignee,
    started_at: event.recorded_at,
    ended_at: null,
    ended_seq: 0,
    outcome: null,
    prior_outcome: null,
    summary: null,
    error: null,
    metadata: null,
    synthesized: claim.synthesized ?? false,
    operator_released: false,
    state: null,
    pushed_at: null,
    answers_injected: 0,
    resume_notice: claim.resume_notice ?? null,
    resume_since: claim.resume_since ?? null,
  };
  const next = { ...task, runs: [...task.runs, run] };
  if (run.synthesized) return next;
  return {
    ...touched(next, event),
    status: 'running',
    current_run_id: run.run_id,
    parked_on: null,
    started_at: task.started_at ?? event.recorded_at,
  };
}

/** Closes the run that an event names. A run is closed once; its end keeps its time and place. */
function closeRun(
  task: ManagedTask,
  event: ManagedEvent & { readonly run_id?: string | undefined },
  end: Partial<Attempt> & { readonly outcome: RunOutcome },
): ManagedTask {
  const { run_id: runId } = event;
  if (runId === undefined) return task;
  const closed = withRun(task, runId, (run) => ({
    ...end,
    ended_at: run.ended_at ?? event.recorded_at,
    ended_seq: run.ended_seq === 0 ? event.seq : run.ended_seq,
  }));
  return { ...closed, current_run_id: task.current_run_id === runId ? null : task.current_run_id };
}

function block(
  task: ManagedTask,
  event: Of<'task.blocked'> | Of<'task.block_loop_detected'> | Of<'task.dependency_wait'>,
): ManagedTask {
  const closed = closeRun(task, event, { outcome: 'blocked', summary: event.reason ?? null });
  return {
    ...touched(closed, event),
    status: statusAfterBlock(event.type),
    block_kind: event.kind,
    block_recurrences: event.type === 'task.dependency_wait' ? task.block_recurrences : event.recurrences,
  };
}

/** A question is no failure, and asking again is no loop: both counts begin anew. */
function park(task: ManagedTask, event: Of<'run.parked'>): ManagedTask {
  const isWaiting = event.status === 'blocked';
  return {
    ...touched(closeRun(task, event, { outcome: 'parked' }), event),
    status: event.status,
    block_kind: isWaiting ? 'needs_input' : null,
    block_recurrences: 0,
    consecutive_failures: 0,
    last_failure_error: null,
    parked_on: isWaiting ? event.question_id : null,
  };
}

/** Only the answer that a parked task waits for moves it. */
function answered(task: ManagedTask, event: Of<'question.answered'>): ManagedTask {
  if (event.status === null) return task;
  return { ...touched(task, event), status: event.status, block_kind: null, parked_on: null };
}

function statusAfterBlock(type: 'task.blocked' | 'task.block_loop_detected' | 'task.dependency_wait') {
  switch (type) {
    case 'task.blocked':
      return 'blocked';
    case 'task.block_loop_detected':
      return 'triage';
    case 'task.dependency_wait':
      return 'todo';
  }
}

function complete(task: ManagedTask, event: Of<'task.completed'>): ManagedTask {
  const summary = event.summary ?? null;
  const metadata = emptyAsNull(event.metadata);
  const closed = closeRun(task, event, {
    outcome: 'completed',
    prior_outcome: event.prior_outcome ?? null,
    summary,
    metadata,
    error: null,
  });
  return {
    ...touched(closed, event),
    status: 'completed',
    completed_at: event.recorded_at,
    completed_run_id: event.run_id ?? null,
    completed_hash: event.result_hash,
    result: event.result,
    summary,
    metadata,
    error: null,
    block_kind: null,
    block_recurrences: 0,
    consecutive_failures: 0,
    last_failure_error: null,
    evidence: event.evidence,
  };
}

function end(
  task: ManagedTask,
  event: Of<'task.failed'> | Of<'task.cancelled'> | Of<'task.archived'>,
): ManagedTask {
  if (event.type === 'task.archived') {
    const closed = closeRun(task, event, { outcome: 'reclaimed', operator_released: true });
    // Filed away after its end: nothing but the flag may change.
    if (event.evidence === undefined) return { ...closed, archived: true };
    return {
      ...ended(closed, event),
      status: 'cancelled',
      archived: true,
      reason_code: 'archived',
      evidence: event.evidence,
    };
  }
  const reason = event.reason ?? null;
  const evidence = event.evidence;
  if (event.type === 'task.cancelled') {
    const closed = closeRun(task, event, { outcome: 'cancelled', error: reason, operator_released: true });
    return { ...ended(closed, event), status: 'cancelled', reason_code: reason ?? 'cancelled', evidence };
  }
  const error = event.error ?? reason;
  const closed = closeRun(task, event, { outcome: 'failed', error });
  return { ...ended(closed, event), status: 'failed', reason_code: reason, error, evidence };
}

function ended(task: ManagedTask, event: ManagedEvent): ManagedTask {
  return { ...touched(task, event), completed_at: event.recorded_at };
}

/** A run that ended without its task: the task waits for the next claim, and a failure counts. */
function release(task: ManagedTask, event: Of<'run.ended'> | Of<'claim.reclaimed'>): ManagedTask {
  const error = event.error ?? null;
  const isManual = event.type === 'claim.reclaimed' && event.manual;
  const closed = closeRun(task, event, {
    outcome: event.type === 'run.ended' ? event.outcome : 'reclaimed',
    error,
    metadata: emptyAsNull(event.type === 'run.ended' ? event.exit : event.termination),
    operator_released: isManual,
  });
  return {
    ...touched(closed, event),
    status: 'ready',
    consecutive_failures: isManual ? 0 : task.consecutive_failures + (event.counts ? 1 : 0),
    last_failure_error: isManual ? null : (error?.slice(0, MAX_ERROR) ?? task.last_failure_error),
  };
}

function emptyAsNull(given: JsonObject | null | undefined): JsonObject | null {
  return given === null || given === undefined || Object.keys(given).length === 0 ? null : given;
}

/** True if every parent is done. */
export function areParentsDone(task: ManagedTask, taskOf: (taskId: string) => ManagedTask | null): boolean {
  return task.parents.every((id) => isDone(taskOf(id)));
}

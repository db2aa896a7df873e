import type { JsonObject } from '../json.ts';
import { toIsoTime } from '../time.ts';
import type { Decision } from './decision.ts';
import { accept, refuse } from './decision.ts';
import { breaker } from './failures.ts';
import type { Found } from './holder-guard.ts';
import { findRun } from './holder-guard.ts';
import type { Attempt, Lease, ManagedTask } from './managed-task.ts';
import { attemptOf } from './managed-task.ts';
import type { ManagedScope } from './scope.ts';

/** How long a run is left alone whose worker would not die, in milliseconds; the next sweep tries again. */
const DEFER_MS = 120_000;

/** A run as it was seen before something slow was done about it. */
export interface SeenRun {
  readonly taskId: string;
  readonly runId: string;
  readonly fence: number;
}

/** What was done to the worker's process; empty if nothing was. */
export type TerminationReport = JsonObject;

/** Repeats inside the transaction what was seen before it: the same run under the same fence still holds the task. */
function stillHeld(
  scope: ManagedScope,
  seen: SeenRun,
): Found<{ readonly task: ManagedTask; readonly run: Attempt; readonly lease: Lease }> {
  const found = findRun(scope, seen);
  if (!found.ok) return found;
  const { task, run } = found;
  const lease = scope.leaseOf(task.task_id);
  const isSame =
    task.status === 'running' &&
    task.current_run_id === run.run_id &&
    lease?.open === true &&
    lease.fence === seen.fence;
  if (isSame) return { ok: true, task, run, lease };
  const facts = {
    task_id: task.task_id,
    run_id: run.run_id,
    current_run_id: task.current_run_id,
    status: task.status,
  };
  return { ok: false, decision: refuse('changed_meanwhile', facts) };
}

/** What a reclaim looks at first, before anything is signalled. */
export function decideReclaimable(
  scope: ManagedScope,
  command: { readonly taskId: string; readonly runId: string },
): Decision {
  const task = scope.taskOf(command.taskId);
  if (task === null) return refuse('no_such_task', { task_id: command.taskId });
  const facts = {
    task_id: task.task_id,
    run_id: command.runId,
    current_run_id: task.current_run_id,
    status: task.status,
  };
  const lease = scope.leaseOf(task.task_id);
  if (task.status !== 'running' || lease === null) return refuse('not_running', facts);
  if (task.current_run_id !== command.runId) return refuse('not_current_run', facts);
  return accept([], { answer: { fence: lease.fence } });
}

/** Takes the task away from a run, by an operator: it is ready again, and the run may never be replayed. */
export function decideReclaim(
  scope: ManagedScope,
  command: SeenRun & { readonly reason: string | null; readonly termination: TerminationReport },
): Decision {
  const held = stillHeld(scope, command);
  if (!held.ok) return held.decision;
  const { task, run } = held;
  const error =
    command.reason === null ? `manual_reclaim holder=${run.holder}` : `manual_reclaim: ${command.reason}`;
  return accept([
    {
      type: 'claim.reclaimed',
      task_id: task.task_id,
      run_id: run.run_id,
      manual: true,
      reason: command.reason,
      error,
      counts: false,
      prev_holder: run.holder,
      retry_status: 'ready',
      termination: command.termination,
    },
  ]);
}

/** Leaves the task with a run whose worker survived, so that no second worker can start beside it. */
export function decideDefer(
  scope: ManagedScope,
  command: SeenRun & { readonly reason: string; readonly termination: TerminationReport },
): Decision {
  const held = stillHeld(scope, command);
  if (!held.ok) return held.decision;
  return accept([
    {
      type: 'claim.deferred',
      task_id: command.taskId,
      run_id: command.runId,
      reason: command.reason,
      expires_at: toIsoTime(scope.now + DEFER_MS),
      termination: command.termination,
    },
  ]);
}

/** Gives an expired lease more time because its process is alive. */
export function decideExtend(scope: ManagedScope, command: SeenRun & { readonly reason: string }): Decision {
  const held = stillHeld(scope, command);
  if (!held.ok) return held.decision;
  const { lease } = held;
  if (lease.expires_at_ms >= scope.now)
    return refuse('not_expired', { task_id: command.taskId, expires_at: toIsoTime(lease.expires_at_ms) });
  return accept([
    {
      type: 'claim.extended',
      task_id: command.taskId,
      run_id: command.runId,
      reason: command.reason,
      expires_at: toIsoTime(scope.now + lease.ttl_ms),
      expires_at_was: toIsoTime(lease.expires_at_ms),
    },
  ]);
}

/** Releases a lease that ran out. It counts as a failure: a task that nobody ever finishes must stop coming back. */
export function decideExpire(
  scope: ManagedScope,
  command: SeenRun & { readonly termination: TerminationReport },
): Decision {
  const held = stillHeld(scope, command);
  if (!held.ok) return held.decision;
  const { task, run, lease } = held;
  if (lease.expires_at_ms >= scope.now)
    return refuse('not_expired', { task_id: task.task_id, expires_at: toIsoTime(lease.expires_at_ms) });
  const error = `stale_lease holder=${lease.holder}`;
  return accept([
    {
      type: 'claim.reclaimed',
      task_id: task.task_id,
      run_id: run.run_id,
      manual: false,
      reason: 'lease_expired',
      error,
      counts: true,
      prev_holder: lease.holder,
      expires_at: toIsoTime(lease.expires_at_ms),
      retry_status: 'ready',
      termination: command.termination,
    },
    ...breaker(scope, task, { runId: run.run_id, outcome: 'reclaimed', error }),
  ]);
}

/** Requeues a task that reads `running` while nobody holds a lease for it: broken bookkeeping, nobody's failure. */
export function decideOrphan(scope: ManagedScope, command: { readonly taskId: string }): Decision {
  const task = scope.taskOf(command.taskId);
  if (task === null) return refuse('no_such_task', { task_id: command.taskId });
  const lease = scope.leaseOf(task.task_id);
  const isHeld = lease?.open === true && lease.run_id === task.current_run_id;
  if (task.status !== 'running' || isHeld || task.current_run_id === null) {
    return refuse('not_running', {
      task_id: task.task_id,
      status: task.status,
      current_run_id: task.current_run_id,
    });
  }
  // A run that has just been parked: what is in flight is no broken bookkeeping.
  if (attemptOf(task, task.current_run_id)?.outcome === 'parked')
    return refuse('in_flight', { task_id: task.task_id, current_run_id: task.current_run_id });
  return accept([
    {
      type: 'claim.reclaimed',
      task_id: task.task_id,
      run_id: task.current_run_id,
      manual: false,
      reason: 'orphaned_running',
      error: 'running without a lease',
      counts: false,
    },
  ]);
}

/** Closes a run whose process is gone: nobody is left who could say how it went. */
export function decideLost(scope: ManagedScope, command: SeenRun): Decision {
  const held = stillHeld(scope, command);
  if (!held.ok) return held.decision;
  const { task, run, lease } = held;
  const error = lease.process === null ? 'the worker is not alive' : `pid ${lease.process.pid} not alive`;
  return accept([
    { type: 'run.ended', task_id: task.task_id, run_id: run.run_id, outcome: 'crashed', error, counts: true },
    ...breaker(scope, task, { runId: run.run_id, outcome: 'crashed', error }),
  ]);
}

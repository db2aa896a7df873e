import type { JsonObject } from '../json.ts';
import { questionFacts } from '../questions/question.ts';
import { parkedQuestion, resumption } from '../questions/resume.ts';
import type { NewEvent } from '../recorded-event.ts';
import { toEpochMillis, toIsoTime } from '../time.ts';
import { openParents } from './completion.ts';
import type { Decision, LeaseBeat } from './decision.ts';
import { accept, refuse } from './decision.ts';
import { isLastChance } from './failures.ts';
import type { HolderClaim } from './holder-guard.ts';
import { findRun, findTask, guardHolder } from './holder-guard.ts';
import type { Lease, ManagedTask, ProcessIdentity } from './managed-task.ts';
import { attemptOf, isEnded } from './managed-task.ts';
import type { ManagedScope } from './scope.ts';

/** A holder asks for work. */
export interface Claim {
  /** Null = whatever is due. */
  readonly taskId: string | null;
  readonly holder: string;
  /** The id of the run that begins if the claim is granted. */
  readonly runId: string;
  /** In milliseconds. @default the ledger's setting */
  readonly ttlMs: number | null;
  /** The process that a reclaim may stop. */
  readonly process: ProcessIdentity | null;
}

/** Grants a task to a holder, or says why not. */
export function decideClaim(scope: ManagedScope, command: Claim): Decision {
  if (command.taskId !== null) {
    const found = findTask(scope, command.taskId);
    return found.ok ? judge(scope, found.task, command) : found.decision;
  }
  for (const id of scope.candidates) {
    const task = scope.taskOf(id);
    const decision = task === null ? null : judge(scope, task, command);
    if (decision?.kind === 'accepted') return decision;
  }
  return refuse('nothing_claimable');
}

/** A park is looked at before the status: it holds also where a row was set back to another one. */
function judge(scope: ManagedScope, task: ManagedTask, command: Claim): Decision {
  const question = parkedQuestion(scope, task);
  if (question === null || task.status === 'running' || isEnded(task))
    return grantOrRefuse(scope, task, command);
  return refuse('question_open', {
    task_id: task.task_id,
    status: task.status,
    question: questionFacts(question),
  });
}

function grantOrRefuse(scope: ManagedScope, task: ManagedTask, command: Claim): Decision {
  const facts = { task_id: task.task_id, status: task.status };
  const waitsFor = openParents(scope, task);
  switch (task.status) {
    case 'ready':
      if (waitsFor.length > 0) return refuse('parents_open', { ...facts, parents: waitsFor });
      return accept(grant(scope, task, command));
    case 'running':
      return takeOver(scope, task, command);
    case 'todo':
      return waitsFor.length > 0
        ? refuse('parents_open', { ...facts, parents: waitsFor })
        : refuse('not_ready', facts);
    case 'triage':
    case 'scheduled':
    case 'blocked':
    case 'review':
    case 'completed':
    case 'failed':
    case 'cancelled':
      return refuse('not_ready', { ...facts, block_kind: task.block_kind });
  }
}

/** The start of the new run, and with it every verdict that no run has heard. */
function grant(scope: ManagedScope, task: ManagedTask, command: Claim): readonly NewEvent[] {
  const { notice, deliveries } = resumption(scope, task, command.runId);
  const started = {
    type: 'run.started',
    task_id: task.task_id,
    run_id: command.runId,
    role: 'attempt',
    claim: {
      holder: command.holder,
      ttl_ms: command.ttlMs ?? scope.settings.lease_ttl_ms,
      assignee: task.assignee,
      process: command.process === null ? null : { ...command.process },
      ...notice,
    },
  };
  return [started, ...deliveries];
}

/** A task whose holder is gone is requeued and handed out by the same claim. */
function takeOver(scope: ManagedScope, task: ManagedTask, command: Claim): Decision {
  const lease = scope.leaseOf(task.task_id);
  const facts = {
    task_id: task.task_id,
    status: task.status,
    current_run_id: task.current_run_id,
    holder: lease?.holder ?? null,
    expires_at: lease === null ? null : toIsoTime(lease.expires_at_ms),
  };
  if (lease === null || !isHolderGone(scope, task, { lease, claimer: command.holder }))
    return refuse('in_flight', facts);
  // The breaker must have its say first, and that is the sweep's to write.
  if (isLastChance(scope, task))
    return refuse('in_flight', { ...facts, consecutive_failures: task.consecutive_failures });
  const stopped = {
    type: 'run.ended',
    task_id: task.task_id,
    run_id: lease.run_id,
    outcome: 'stopped',
    counts: true,
    error: `the holder ${lease.holder} is gone`,
  };
  return accept([stopped, ...grant(scope, task, command)]);
}

/**
 * True if the holder is gone as far as this store can tell: its lease ran out, or it claims again; and the run is
 * neither fresh nor in the middle of a report. A run with a process is for the sweep, which can look at it.
 */
function isHolderGone(
  scope: ManagedScope,
  task: ManagedTask,
  { lease, claimer }: { readonly lease: Lease; readonly claimer: string },
): boolean {
  const { now, settings } = scope;
  if (!lease.open || lease.process !== null) return false;
  if (lease.expires_at_ms >= now && lease.holder !== claimer) return false;
  return (
    now - lease.started_at_ms > settings.crash_grace_ms &&
    now - lastReport(task, lease) > settings.park_settle_ms
  );
}

/** When a run was heard of last: a push or a heartbeat; its start counts as neither. */
function lastReport(task: ManagedTask, lease: Lease): number {
  const pushed = attemptOf(task, lease.run_id)?.pushed_at ?? null;
  return Math.max(pushed === null ? 0 : toEpochMillis(pushed), lease.heartbeat_at_ms ?? 0);
}

/** A sign of life, optionally with another span from now on. */
export function decideHeartbeat(
  scope: ManagedScope,
  command: HolderClaim & { readonly ttlMs: number | null },
): Decision {
  const held = guardHolder(scope, command);
  if (!held.ok) return held.decision;
  return accept([], { beat: beatOf(scope, held.lease, command.ttlMs) });
}

/** A report of the run's state; a sign of life as well. */
export function decidePush(
  scope: ManagedScope,
  command: HolderClaim & { readonly state: string; readonly note: string | null },
): Decision {
  const held = guardHolder(scope, command);
  if (!held.ok) return held.decision;
  const event = {
    type: 'run.pushed',
    task_id: held.task.task_id,
    run_id: command.runId,
    state: command.state,
    note: command.note,
  };
  return accept([event], { beat: beatOf(scope, held.lease, null) });
}

/** The sign of life that a report of a holder is. */
export function beatOf(scope: ManagedScope, lease: Lease, ttlMs: number | null): LeaseBeat {
  return {
    task_id: lease.task_id,
    expires_at_ms: scope.now + (ttlMs ?? lease.ttl_ms),
    heartbeat_at_ms: scope.now,
  };
}

/** Tells a holder its current fence; nobody else. Writes nothing. */
export function decideRefresh(
  scope: ManagedScope,
  command: { readonly runId: string; readonly holder: string },
): Decision {
  const found = findRun(scope, { taskId: null, runId: command.runId });
  if (!found.ok) return found.decision;
  const { task } = found;
  const lease = scope.leaseOf(task.task_id);
  const facts: JsonObject = { task_id: task.task_id, run_id: command.runId };
  if (lease === null || !lease.open || lease.run_id !== command.runId) {
    return refuse('not_current_run', { ...facts, current_run_id: task.current_run_id, status: task.status });
  }
  if (lease.holder !== command.holder) return refuse('not_holder', { ...facts, offered: command.holder });
  return accept([], { answer: { fence: lease.fence, expires_at: toIsoTime(lease.expires_at_ms) } });
}

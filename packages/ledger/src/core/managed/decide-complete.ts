import type { NewEvent } from '../recorded-event.ts';
import type { Completion } from './completion.ts';
import { completedEvent, openParents, promotions, withDefaults } from './completion.ts';
import type { Decision } from './decision.ts';
import { accept, refuse } from './decision.ts';
import { findRun, findTask, guardHolder } from './holder-guard.ts';
import type { ManagedTask, TaskStatus } from './managed-task.ts';
import { isEnded } from './managed-task.ts';
import type { ManagedScope } from './scope.ts';

/** The run that completes its task, and what it brings. */
export interface CompleteRun extends Completion {
  readonly taskId: string;
  readonly runId: string;
  /** Null for the recovery of a journal: the record itself proves that the run had been accepted. */
  readonly fence: number | null;
}

/** Completes a task by the run that holds it. */
export function decideComplete(scope: ManagedScope, command: CompleteRun): Decision {
  const held =
    command.fence === null
      ? currentRunOnly(scope, command)
      : guardHolder(scope, { ...command, fence: command.fence });
  if (!held.ok) return held.decision;
  const { task } = held;
  const waitsFor = openParents(scope, task);
  if (waitsFor.length > 0)
    return refuse('parents_open', { task_id: task.task_id, run_id: command.runId, parents: waitsFor });
  return accept([
    completedEvent(scope, task, { completion: command, runId: command.runId }),
    ...promotions(scope, task.task_id),
  ]);
}

function currentRunOnly(scope: ManagedScope, command: CompleteRun) {
  const found = findRun(scope, command);
  if (!found.ok || found.task.current_run_id === command.runId) return found;
  const { task } = found;
  const decision = refuse('not_current_run', {
    task_id: task.task_id,
    run_id: command.runId,
    current_run_id: task.current_run_id,
    status: task.status,
  });
  return { ok: false, decision } as const;
}

/** A completion by an operator, who need not hold the task. */
export interface CompleteByOperator extends Partial<Completion> {
  readonly taskId: string;
  readonly operator: string;
  /** Also while a person's answer is awaited. */
  readonly force: boolean;
  /** The id of the run that is made up when nobody holds the task and there is something to hand over. */
  readonly runId: string;
}

/** Completes a task by an operator; the run that holds it is bound to it, or one is made up for what is handed over. */
export function decideOperatorComplete(scope: ManagedScope, command: CompleteByOperator): Decision {
  const found = findTask(scope, command.taskId);
  if (!found.ok) return found.decision;
  const { task } = found;
  const refused = refuseOperator(scope, task, command);
  if (refused !== null) return refused;
  const completion = withDefaults({
    result: command.result ?? null,
    summary: command.summary ?? null,
    metadata: command.metadata ?? null,
  });
  const hasHandoff = Object.values(completion).some((part) => part !== null) || task.status === 'review';
  const madeUp = task.current_run_id === null && hasHandoff ? command.runId : null;
  return accept([
    ...(madeUp === null ? [] : [synthesizedStart(task, { runId: madeUp, holder: command.operator })]),
    completedEvent(scope, task, {
      completion,
      runId: task.current_run_id ?? madeUp,
      facts: { operator: command.operator },
    }),
    ...promotions(scope, task.task_id),
  ]);
}

const COMPLETABLE: ReadonlySet<TaskStatus> = new Set(['ready', 'running', 'blocked', 'review']);

function refuseOperator(
  scope: ManagedScope,
  task: ManagedTask,
  command: CompleteByOperator,
): Decision | null {
  const facts = { task_id: task.task_id, status: task.status };
  if (task.status === 'completed')
    return refuse('already_completed', { ...facts, completed_run_id: task.completed_run_id });
  if (isEnded(task)) return refuse('task_ended', facts);
  if (!COMPLETABLE.has(task.status)) return refuse('status_not_completable', facts);
  const waitsFor = openParents(scope, task);
  if (waitsFor.length > 0) return refuse('parents_open', { ...facts, parents: waitsFor });
  const awaitsPerson = task.status === 'blocked' && task.block_kind === 'needs_input';
  return awaitsPerson && !command.force
    ? refuse('needs_force', { ...facts, block_kind: task.block_kind })
    : null;
}

/** The start of a run that is over at once: an end that nobody had claimed, and that has something to say. */
export function synthesizedStart(
  task: ManagedTask,
  run: { readonly runId: string; readonly holder: string },
): NewEvent {
  return {
    type: 'run.started',
    task_id: task.task_id,
    run_id: run.runId,
    role: 'attempt',
    claim: { holder: run.holder, ttl_ms: 1, assignee: task.assignee, synthesized: true },
  };
}

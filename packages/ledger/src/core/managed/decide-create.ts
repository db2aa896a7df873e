import type { NewEvent } from '../recorded-event.ts';
import type { Decision } from './decision.ts';
import { accept, refuse } from './decision.ts';
import { findTask } from './holder-guard.ts';
import type { ManagedTask } from './managed-task.ts';
import { isDone, isEnded } from './managed-task.ts';
import type { ManagedScope } from './scope.ts';

/** A new task. */
export interface CreateTask {
  readonly taskId: string;
  readonly title: string;
  readonly body?: string | null;
  readonly assignee?: string | null;
  /** Greater goes first. @default 0 */
  readonly priority?: number;
  readonly parents?: readonly string[];
  readonly createdBy?: string | null;
  /** Failures in a row after which it is blocked. @default the ledger's limit */
  readonly maxRetries?: number | null;
  /** Where it starts instead of the usual place: to be specified first, or held. */
  readonly initial?: 'triage' | 'blocked';
}

/** Creates a task: `triage` or `blocked` if asked, `todo` while a parent is not done, else `ready`. */
export function decideCreate(scope: ManagedScope, command: CreateTask): Decision {
  const existing = scope.taskOf(command.taskId);
  if (existing !== null || scope.hasRow(command.taskId)) {
    return refuse('task_exists', {
      task_id: command.taskId,
      status: existing?.status ?? null,
      managed: existing !== null,
    });
  }
  const parents = [...new Set(command.parents ?? [])];
  const unknown = parents.filter((id) => scope.taskOf(id) === null);
  if (unknown.length > 0) return refuse('no_such_parent', { task_id: command.taskId, parents: unknown });
  const waits = parents.some((id) => !isDone(scope.taskOf(id)));
  const created = createdEvent({ ...command, parents }, waits ? 'todo' : 'ready');
  if (command.initial !== 'blocked') return accept([created]);
  const hold = {
    type: 'task.blocked',
    task_id: command.taskId,
    reason: 'initial_status',
    kind: null,
    recurrences: 0,
    source_status: 'created',
  };
  return accept([created, hold]);
}

/** The event of a new task. */
export function createdEvent(
  command: CreateTask,
  usual: 'todo' | 'ready',
  more: { readonly decomposed_from?: string } = {},
): NewEvent {
  return {
    ...more,
    type: 'task.created',
    task_id: command.taskId,
    title: command.title,
    body: command.body ?? null,
    assignee: command.assignee ?? null,
    priority: command.priority ?? 0,
    created_by: command.createdBy ?? null,
    parents: command.parents ?? [],
    status: command.initial ?? usual,
    max_retries: command.maxRetries ?? null,
  };
}

/** Makes a task wait for another one. Linking twice changes nothing. */
export function decideLink(
  scope: ManagedScope,
  command: { readonly taskId: string; readonly parentId: string },
): Decision {
  const found = findTask(scope, command.taskId);
  if (!found.ok) return found.decision;
  const { task } = found;
  const parent = scope.taskOf(command.parentId);
  const facts = { task_id: task.task_id, parent_id: command.parentId };
  if (parent === null) return refuse('no_such_parent', facts);
  if (isEnded(task)) return refuse('task_ended', { ...facts, status: task.status });
  if (task.parents.includes(parent.task_id)) return accept([]);
  if (isBelow(scope, parent, task.task_id)) return refuse('link_cycle', facts);
  const demotes = task.status === 'ready' && !isDone(parent);
  return accept([{ type: 'task.linked', ...facts, ...(demotes ? { status: 'todo' } : {}) }]);
}

/** True if `task` is, or waits through any number of generations for, the task `id`. */
function isBelow(scope: ManagedScope, task: ManagedTask, id: string): boolean {
  const seen = new Set<string>();
  const open = [task.task_id];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === id) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...(scope.taskOf(next)?.parents ?? []));
  }
  return false;
}

/** Gives a task to another assignee; a new one starts with a clean record of failures. */
export function decideAssign(
  scope: ManagedScope,
  command: { readonly taskId: string; readonly assignee: string },
): Decision {
  const found = findTask(scope, command.taskId);
  if (!found.ok) return found.decision;
  const { task } = found;
  if (isEnded(task)) return refuse('task_ended', { task_id: task.task_id, status: task.status });
  if (task.current_run_id !== null) {
    return refuse('task_running', {
      task_id: task.task_id,
      current_run_id: task.current_run_id,
      assignee: task.assignee,
    });
  }
  if (task.assignee === command.assignee) return accept([]);
  return accept([
    { type: 'task.assigned', task_id: task.task_id, assignee: command.assignee, previous: task.assignee },
  ]);
}

/** A remark on a task. */
export interface Comment {
  readonly taskId: string;
  readonly author: string;
  readonly body: string;
  /** The run of its author, if a run wrote it. */
  readonly runId?: string | null;
}

/** Takes a remark at any time; one whose run has ended is marked late. */
export function decideComment(scope: ManagedScope, command: Comment): Decision {
  const found = findTask(scope, command.taskId);
  if (!found.ok) return found.decision;
  const { task } = found;
  const runId = command.runId ?? null;
  if (runId !== null && scope.runOwner === null)
    return refuse('no_such_run', { task_id: task.task_id, run_id: runId });
  if (runId !== null && scope.runOwner !== task.task_id) {
    return refuse('foreign_run', { task_id: task.task_id, run_id: runId, owner: scope.runOwner });
  }
  const attempt = runId === null ? null : (task.runs.find((run) => run.run_id === runId) ?? null);
  return accept([
    {
      type: 'task.commented',
      task_id: task.task_id,
      ...(runId === null ? {} : { run_id: runId }),
      author: command.author,
      body: command.body,
      late: attempt !== null && attempt.ended_at !== null,
    },
  ]);
}

import { questionFacts } from '../questions/question.ts';
import { parkedQuestion } from '../questions/resume.ts';
import type { NewEvent } from '../recorded-event.ts';
import { openParents } from './completion.ts';
import { createdEvent } from './decide-create.ts';
import type { Decision } from './decision.ts';
import { accept, refuse } from './decision.ts';
import { findTask } from './holder-guard.ts';
import type { ManagedTask } from './managed-task.ts';
import type { ManagedScope } from './scope.ts';

/** What a person makes of a task that nobody could do as it was. */
export interface Specify {
  readonly taskId: string;
  readonly title?: string | null;
  readonly body?: string | null;
  readonly assignee?: string | null;
  readonly author?: string | null;
}

/** Takes a task out of triage with a better description; it is ready at once unless it waits for a parent. */
export function decideSpecify(scope: ManagedScope, command: Specify): Decision {
  const found = findTask(scope, command.taskId);
  if (!found.ok) return found.decision;
  const { task } = found;
  if (task.status !== 'triage')
    return refuse('not_in_triage', { task_id: task.task_id, status: task.status });
  const changes = changedFields(task, command);
  const author = command.author ?? null;
  const specified = {
    type: 'task.specified',
    task_id: task.task_id,
    changed_fields: Object.keys(changes),
    ...changes,
    author,
  };
  const fields = Object.keys(changes).join(', ');
  const comment = fields === '' || author === null ? [] : [remark(task, author, `specified: ${fields}`)];
  const promoted =
    openParents(scope, task).length > 0 ? [] : [{ type: 'task.promoted', task_id: task.task_id }];
  return accept([specified, ...comment, ...promoted]);
}

function remark(task: ManagedTask, author: string, body: string): NewEvent {
  return { type: 'task.commented', task_id: task.task_id, author, body, late: false };
}

function changedFields(task: ManagedTask, command: Specify): Record<string, string> {
  const offered = { title: command.title, body: command.body, assignee: command.assignee };
  return Object.fromEntries(
    Object.entries(offered).flatMap(([field, given]): [string, string][] =>
      given === undefined || given === null || given === task[field as keyof typeof offered]
        ? []
        : [[field, given]],
    ),
  );
}

/** One part of a task that is split. */
export interface ChildTask {
  readonly taskId: string;
  readonly title: string;
  readonly assignee?: string | null;
  /** Ids of siblings that must be done first. */
  readonly parents?: readonly string[];
}

/** Splits a task in triage into children that it then waits for. */
export interface Decompose {
  readonly taskId: string;
  readonly children: readonly ChildTask[];
  readonly rootAssignee?: string | null;
  readonly author?: string | null;
  /** Make children that wait for nothing ready at once. @default true */
  readonly autoPromote?: boolean;
}

/** Splits a task, once and for ever. */
export function decideDecompose(scope: ManagedScope, command: Decompose): Decision {
  const found = findTask(scope, command.taskId);
  if (!found.ok) return found.decision;
  const { task } = found;
  const facts = { task_id: task.task_id, status: task.status };
  if (task.decomposed) return refuse('decomposed', facts);
  if (task.status !== 'triage') return refuse('not_in_triage', facts);
  const taken = command.children
    .map((child) => child.taskId)
    .filter((id) => scope.taskOf(id) !== null || scope.hasRow(id));
  if (taken.length > 0) return refuse('task_exists', { ...facts, children: taken });
  const childIds = command.children.map((child) => child.taskId);
  const author = command.author ?? null;
  const created = command.children.map((child) =>
    createdEvent({ ...child, priority: task.priority, createdBy: author }, 'todo', {
      decomposed_from: task.task_id,
    }),
  );
  const free =
    command.autoPromote === false
      ? []
      : command.children.filter((child) => (child.parents ?? []).length === 0);
  return accept([
    ...created,
    {
      type: 'task.decomposed',
      task_id: task.task_id,
      child_ids: childIds,
      root_assignee: command.rootAssignee ?? null,
      author,
    },
    ...(author === null ? [] : [remark(task, author, `decomposed into ${childIds.join(', ')}`)]),
    ...free.map((child) => ({ type: 'task.promoted', task_id: child.taskId })),
  ]);
}

/** Makes a waiting or blocked task ready, by an operator; never before its parents are done. */
export function decidePromote(
  scope: ManagedScope,
  command: { readonly taskId: string; readonly actor: string; readonly reason: string | null },
): Decision {
  const found = findTask(scope, command.taskId);
  if (!found.ok) return found.decision;
  const { task } = found;
  const facts = { task_id: task.task_id, status: task.status };
  if (task.status !== 'todo' && task.status !== 'blocked') return refuse('not_promotable', facts);
  const question = parkedQuestion(scope, task);
  if (question !== null) return refuse('question_open', { ...facts, question: questionFacts(question) });
  const waitsFor = openParents(scope, task);
  if (waitsFor.length > 0) return refuse('parents_open', { ...facts, parents: waitsFor });
  return accept([
    { type: 'task.promoted', task_id: task.task_id, actor: command.actor, reason: command.reason },
  ]);
}

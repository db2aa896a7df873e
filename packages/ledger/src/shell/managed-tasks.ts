import type { JsonValue } from '../core/json.ts';
import { BLOCK_TYPES, decideBlock, decideUnblock } from '../core/managed/decide-block.ts';
import type { CompleteByOperator } from '../core/managed/decide-complete.ts';
import { decideOperatorComplete } from '../core/managed/decide-complete.ts';
import type { Comment, CreateTask } from '../core/managed/decide-create.ts';
import { decideAssign, decideComment, decideCreate, decideLink } from '../core/managed/decide-create.ts';
import { decideArchive, decideCancel } from '../core/managed/decide-end.ts';
import type { ChildTask, Decompose, Specify } from '../core/managed/decide-triage.ts';
import { decideDecompose, decidePromote, decideSpecify } from '../core/managed/decide-triage.ts';
import type { Decision, Refusal } from '../core/managed/decision.ts';
import type { BlockKind, ManagedTask, TaskStatus } from '../core/managed/managed-task.ts';
import { BLOCK_KINDS } from '../core/managed/managed-task.ts';
import type { ManagedScope, ScopeRequest } from '../core/managed/scope.ts';
import { hasSiblingCycle } from '../core/managed/sibling-cycle.ts';
import { UsageError } from '../errors.ts';
import type { ManagedStore } from '../ports/managed-store.ts';
import { idArgument, integerArgument, optionalText, textArgument, wordArgument } from './arguments.ts';

/** A command on a task was carried out; the status is the task's now. */
export interface TaskDone<Outcome extends string> {
  readonly outcome: Outcome;
  readonly task_id: string;
  readonly status: TaskStatus;
}

/** A new task as its author gives it. */
export type NewTask = Omit<CreateTask, 'taskId'> & { /** @default a new id */ readonly taskId?: string };

/** A part of a task that is split. */
export type NewChild = Omit<ChildTask, 'taskId'> & { /** @default a new id */ readonly taskId?: string };

/** Commands of operators on managed tasks. Each answers what it did, or a refusal that wrote nothing. */
export interface ManagedTasks {
  create(task: NewTask): Promise<TaskDone<'created'> | Refusal>;
  /** Everything known of a task, its attempts with it; null if there is none of that id. */
  get(taskId: string): Promise<ManagedTask | null>;
  /** Makes a task wait for another one. */
  link(link: { readonly taskId: string; readonly parentId: string }): Promise<TaskDone<'linked'> | Refusal>;
  assign(to: { readonly taskId: string; readonly assignee: string }): Promise<TaskDone<'assigned'> | Refusal>;
  comment(comment: Comment): Promise<(TaskDone<'commented'> & { readonly late: boolean }) | Refusal>;
  block(block: {
    readonly taskId: string;
    readonly reason?: string | null;
    readonly kind?: BlockKind | null;
  }): Promise<TaskDone<'blocked'> | Refusal>;
  unblock(task: { readonly taskId: string }): Promise<TaskDone<'unblocked'> | Refusal>;
  specify(specification: Specify): Promise<TaskDone<'specified'> | Refusal>;
  decompose(
    split: Omit<Decompose, 'children'> & { readonly children: readonly NewChild[] },
  ): Promise<(TaskDone<'decomposed'> & { readonly children: readonly string[] }) | Refusal>;
  promote(task: {
    readonly taskId: string;
    readonly actor: string;
    readonly reason?: string | null;
  }): Promise<TaskDone<'promoted'> | Refusal>;
  /** Completes a task whoever holds it; `force` also while a person's answer is awaited. */
  complete(
    end: Omit<CompleteByOperator, 'force' | 'runId'> & { readonly force?: boolean },
  ): Promise<OperatorCompleted | Refusal>;
  cancel(task: {
    readonly taskId: string;
    readonly reason?: string | null;
  }): Promise<TaskDone<'cancelled'> | Refusal>;
  archive(task: { readonly taskId: string }): Promise<TaskDone<'archived'> | Refusal>;
}

/** A completion by an operator. */
export type OperatorCompleted = TaskDone<'completed'> & {
  readonly run_id: string | null;
  readonly seq: number;
};

/** Commands on the tasks of a store. */
export function managedTasks(store: ManagedStore): ManagedTasks {
  /** Carries out a command on one task and tells where it stands then. */
  async function act<Outcome extends string>(
    outcome: Outcome,
    request: ScopeRequest & { readonly taskIds: readonly [string, ...string[]] },
    decision: (scope: ManagedScope) => Decision,
  ): Promise<TaskDone<Outcome> | Refusal> {
    const decided = await store.decide(request, decision);
    if (decided.outcome === 'refused') return decided.refusal;
    const [taskId] = request.taskIds;
    return { outcome, task_id: taskId, status: statusOf(decided.after, taskId) };
  }

  return {
    create: async (task) => {
      const taskId = task.taskId === undefined ? store.newId() : idArgument('task_id', task.taskId);
      const command = checkedTask({ ...task, taskId });
      const request = {
        taskIds: [taskId, ...(command.parents ?? [])] as const,
        rows: true,
        effect: ['task.created'],
      };
      return act('created', request, (scope) => decideCreate(scope, command));
    },
    get: async (taskId) => (await store.read({ taskIds: [idArgument('task_id', taskId)] })).taskOf(taskId),
    link: async (link) => {
      const command = {
        taskId: idArgument('task_id', link.taskId),
        parentId: idArgument('parent_id', link.parentId),
      };
      const request = {
        taskIds: [command.taskId, command.parentId] as const,
        ancestors: true,
        effect: ['task.linked'],
      };
      return act('linked', request, (scope) => decideLink(scope, command));
    },
    assign: async (to) => {
      const command = {
        taskId: idArgument('task_id', to.taskId),
        assignee: textArgument('assignee', to.assignee),
      };
      return act('assigned', { taskIds: [command.taskId], effect: ['task.assigned'] }, (scope) =>
        decideAssign(scope, command),
      );
    },
    comment: async (comment) => {
      const runId =
        comment.runId === undefined || comment.runId === null ? null : idArgument('run_id', comment.runId);
      const command = {
        taskId: idArgument('task_id', comment.taskId),
        author: textArgument('author', comment.author),
        body: textArgument('body', comment.body),
        runId,
      };
      const request = {
        taskIds: [command.taskId] as const,
        effect: ['task.commented'],
        ...(runId === null ? {} : { runId }),
      };
      let isLate = false;
      const decided = await store.decide(request, (scope) => {
        const decision = decideComment(scope, command);
        isLate = decision.kind === 'accepted' && decision.events[0]?.['late'] === true;
        return decision;
      });
      if (decided.outcome === 'refused') return decided.refusal;
      return {
        outcome: 'commented',
        task_id: command.taskId,
        status: statusOf(decided.after, command.taskId),
        late: decided.repeats === undefined ? isLate : decided.repeats['late'] === true,
      };
    },
    block: async (block) => {
      const command = {
        taskId: idArgument('task_id', block.taskId),
        held: null,
        reason: optionalText('reason', block.reason),
        kind: kindArgument(block.kind),
        madeUpRunId: store.newId(),
      };
      return act('blocked', { taskIds: [command.taskId], effect: BLOCK_TYPES }, (scope) =>
        decideBlock(scope, command),
      );
    },
    unblock: async (task) => {
      const taskId = idArgument('task_id', task.taskId);
      return act('unblocked', { taskIds: [taskId], effect: ['task.unblocked'] }, (scope) =>
        decideUnblock(scope, { taskId }),
      );
    },
    specify: async (specification) => {
      const taskId = idArgument('task_id', specification.taskId);
      if (specification.title !== undefined && specification.title !== null)
        textArgument('title', specification.title);
      return act('specified', { taskIds: [taskId], effect: ['task.specified'] }, (scope) =>
        decideSpecify(scope, specification),
      );
    },
    decompose: async (split) => {
      const taskId = idArgument('task_id', split.taskId);
      const children = checkedChildren(split.children, store.newId);
      const childIds = children.map((child) => child.taskId);
      const request = { taskIds: [taskId, ...childIds] as const, rows: true, effect: ['task.decomposed'] };
      const done = await act('decomposed', request, (scope) =>
        decideDecompose(scope, { ...split, children }),
      );
      return done.outcome === 'refused' ? done : { ...done, children: childIds };
    },
    promote: async (task) => {
      const command = {
        taskId: idArgument('task_id', task.taskId),
        actor: textArgument('actor', task.actor),
        reason: optionalText('reason', task.reason),
      };
      return act('promoted', { taskIds: [command.taskId], effect: ['task.promoted'] }, (scope) =>
        decidePromote(scope, command),
      );
    },
    complete: (end) => completeByOperator(store, end),
    cancel: async (task) => {
      const command = {
        taskId: idArgument('task_id', task.taskId),
        reason: optionalText('reason', task.reason),
      };
      const request = { taskIds: [command.taskId] as const, evidence: true, effect: ['task.cancelled'] };
      return act('cancelled', request, (scope) => decideCancel(scope, command));
    },
    archive: async (task) => {
      const taskId = idArgument('task_id', task.taskId);
      const request = {
        taskIds: [taskId] as const,
        evidence: true,
        children: true,
        effect: ['task.archived'],
      };
      return act('archived', request, (scope) => decideArchive(scope, { taskId }));
    },
  };
}

async function completeByOperator(
  store: ManagedStore,
  end: Parameters<ManagedTasks['complete']>[0],
): Promise<OperatorCompleted | Refusal> {
  const command: CompleteByOperator = {
    ...end,
    taskId: idArgument('task_id', end.taskId),
    operator: textArgument('operator', end.operator),
    force: end.force ?? false,
    runId: store.newId(),
  };
  const request = { taskIds: [command.taskId], evidence: true, children: true, effect: ['task.completed'] };
  let place = 0;
  const decided = await store.decide(request, (scope) => {
    const decision = decideOperatorComplete(scope, command);
    if (decision.kind === 'accepted')
      place = decision.events.findIndex((event) => event.type === 'task.completed');
    return decision;
  });
  if (decided.outcome === 'refused') return decided.refusal;
  const task = decided.after.taskOf(command.taskId);
  return {
    outcome: 'completed',
    task_id: command.taskId,
    status: statusOf(decided.after, command.taskId),
    run_id: task?.completed_run_id ?? null,
    seq: decided.seqs[place] ?? 0,
  };
}

function statusOf(scope: ManagedScope, taskId: string): TaskStatus {
  const task = scope.taskOf(taskId);
  if (task === null)
    throw new Error(`the store carried out a command on ${taskId} and does not know the task`);
  return task.status;
}

function checkedTask(task: CreateTask): CreateTask {
  textArgument('title', task.title);
  for (const parent of task.parents ?? []) idArgument('parents', parent);
  if (task.priority !== undefined) integerArgument('priority', task.priority, Number.MIN_SAFE_INTEGER);
  if (task.maxRetries !== undefined && task.maxRetries !== null)
    integerArgument('max_retries', task.maxRetries, 1);
  if (task.initial !== undefined) wordArgument('initial', task.initial, ['triage', 'blocked']);
  return task;
}

/** @throws UsageError for a kind that there is not. */
export function kindArgument(kind: BlockKind | null | undefined): BlockKind | null {
  return kind === undefined || kind === null ? null : wordArgument('kind', kind, BLOCK_KINDS);
}

function checkedChildren(children: readonly NewChild[], newId: () => string): readonly ChildTask[] {
  const checked = children.map((child) => ({
    ...child,
    taskId: child.taskId === undefined ? newId() : idArgument('children', child.taskId),
    title: textArgument('children', child.title),
  }));
  const ids = new Set(checked.map((child) => child.taskId));
  const isMalformed =
    checked.length === 0 ||
    ids.size < checked.length ||
    checked.some((child) => (child.parents ?? []).some((id) => !ids.has(id)));
  if (!isMalformed && !hasSiblingCycle(checked)) return checked;
  throw new UsageError(
    'invalid_option',
    'children must be at least one, with ids of their own, waiting only for siblings and never in a circle',
    {
      hint: 'Nothing was written; correct the children.',
      facts: { field: 'children', value: ids.size as JsonValue },
    },
  );
}

import type { BlockKind } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { withManagedLedger } from '../open-managed.ts';
import { printAnswer } from '../output/answer.ts';
import { taskText } from '../output/task-text.ts';

/** A command on one task. */
interface OfTask {
  readonly taskId: string;
}

/** Options of `task link`. */
export interface TaskLinkOptions extends OfTask {
  readonly parent: string;
}

/** Makes a task wait for another one. */
export async function taskLink(context: CommandContext, options: TaskLinkOptions): Promise<ExitCode> {
  const { taskId, parent } = options;
  return withManagedLedger(context, { ids: { ID: taskId, '--parent': parent } }, async (ledger) =>
    printAnswer(context, await ledger.tasks.link({ taskId, parentId: parent }), taskText),
  );
}

/** Options of `task assign`. */
export interface TaskAssignOptions extends OfTask {
  readonly to: string;
}

/** Gives a task to an assignee. */
export async function taskAssign(context: CommandContext, options: TaskAssignOptions): Promise<ExitCode> {
  const { taskId, to } = options;
  return withManagedLedger(context, { ids: { ID: taskId } }, async (ledger) =>
    printAnswer(context, await ledger.tasks.assign({ taskId, assignee: to }), taskText),
  );
}

/** Options of `task comment`. */
export interface TaskCommentOptions extends OfTask {
  readonly author: string;
  readonly body: string;
  /** The run of the author, if a run wrote it. */
  readonly run?: string | undefined;
}

/** Keeps a remark on a task. */
export async function taskComment(context: CommandContext, options: TaskCommentOptions): Promise<ExitCode> {
  const { taskId, author, body, run } = options;
  return withManagedLedger(context, { ids: { ID: taskId, '--run': run } }, async (ledger) => {
    const answer = await ledger.tasks.comment({ taskId, author, body, runId: run ?? null });
    return printAnswer(
      context,
      answer,
      (done) => `${taskText(done)}${done.late ? ' (its run has ended)' : ''}`,
    );
  });
}

/** Options of `task block`. */
export interface TaskBlockOptions extends OfTask {
  readonly reason: string;
  readonly kind?: BlockKind | undefined;
}

/** Holds a task up; the run that holds it loses it. */
export async function taskBlock(context: CommandContext, options: TaskBlockOptions): Promise<ExitCode> {
  const { taskId, reason, kind } = options;
  return withManagedLedger(context, { ids: { ID: taskId } }, async (ledger) =>
    printAnswer(context, await ledger.tasks.block({ taskId, reason, kind: kind ?? null }), taskText),
  );
}

/** Lets a blocked task go on. */
export async function taskUnblock(context: CommandContext, { taskId }: OfTask): Promise<ExitCode> {
  return withManagedLedger(context, { ids: { ID: taskId } }, async (ledger) =>
    printAnswer(context, await ledger.tasks.unblock({ taskId }), taskText),
  );
}

/** Options of `task promote`. */
export interface TaskPromoteOptions extends OfTask {
  readonly operator: string;
  readonly reason?: string | undefined;
}

/** Makes a waiting or blocked task ready. */
export async function taskPromote(context: CommandContext, options: TaskPromoteOptions): Promise<ExitCode> {
  const { taskId, operator, reason } = options;
  return withManagedLedger(context, { ids: { ID: taskId } }, async (ledger) => {
    const answer = await ledger.tasks.promote({ taskId, actor: operator, reason: reason ?? null });
    return printAnswer(context, answer, taskText);
  });
}

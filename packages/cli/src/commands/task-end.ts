import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { withManagedLedger } from '../open-managed.ts';
import { printAnswer } from '../output/answer.ts';
import { taskText } from '../output/task-text.ts';

/** Options of `task complete`. */
export interface TaskCompleteOptions {
  readonly taskId: string;
  readonly operator: string;
  readonly result?: string | undefined;
  readonly summary?: string | undefined;
  /** Also while a person's answer is awaited. */
  readonly force?: boolean | undefined;
}

/** Completes a task by an operator, whoever holds it. */
export async function taskComplete(context: CommandContext, options: TaskCompleteOptions): Promise<ExitCode> {
  const { taskId, operator, result, summary, force } = options;
  return withManagedLedger(context, { ids: { ID: taskId } }, async (ledger) => {
    const answer = await ledger.tasks.complete({
      taskId,
      operator,
      result: result ?? null,
      summary: summary ?? null,
      force: force ?? false,
    });
    return printAnswer(context, answer, taskText);
  });
}

/** Options of `task cancel`. */
export interface TaskCancelOptions {
  readonly taskId: string;
  readonly reason?: string | undefined;
}

/** Ends a task that is no longer wanted; the run that holds it loses it. */
export async function taskCancel(context: CommandContext, options: TaskCancelOptions): Promise<ExitCode> {
  const { taskId, reason } = options;
  return withManagedLedger(context, { ids: { ID: taskId } }, async (ledger) =>
    printAnswer(context, await ledger.tasks.cancel({ taskId, reason: reason ?? null }), taskText),
  );
}

/** Files a task away; one that has not ended is given up by it. */
export async function taskArchive(
  context: CommandContext,
  { taskId }: { readonly taskId: string },
): Promise<ExitCode> {
  return withManagedLedger(context, { ids: { ID: taskId } }, async (ledger) =>
    printAnswer(context, await ledger.tasks.archive({ taskId }), taskText),
  );
}

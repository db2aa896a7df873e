import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import type { ChildOption } from '../input/managed-options.ts';
import { withManagedLedger } from '../open-managed.ts';
import { printAnswer } from '../output/answer.ts';
import { printable } from '../output/printable.ts';
import { taskText } from '../output/task-text.ts';

/** Options of `task specify`. */
export interface TaskSpecifyOptions {
  readonly taskId: string;
  readonly title?: string | undefined;
  readonly body?: string | undefined;
  readonly assignee?: string | undefined;
  readonly author?: string | undefined;
}

/** Takes a task out of triage with a better description. */
export async function taskSpecify(context: CommandContext, options: TaskSpecifyOptions): Promise<ExitCode> {
  const { taskId, title, body, assignee, author } = options;
  return withManagedLedger(context, { ids: { ID: taskId } }, async (ledger) => {
    const answer = await ledger.tasks.specify({
      taskId,
      title: title ?? null,
      body: body ?? null,
      assignee: assignee ?? null,
      author: author ?? null,
    });
    return printAnswer(context, answer, taskText);
  });
}

/** Options of `task decompose`. */
export interface TaskDecomposeOptions {
  readonly taskId: string;
  readonly child: readonly ChildOption[];
  readonly assignee?: string | undefined;
  readonly author?: string | undefined;
}

/** Splits a task in triage into children that it then waits for. */
export async function taskDecompose(
  context: CommandContext,
  options: TaskDecomposeOptions,
): Promise<ExitCode> {
  const { taskId, child, assignee, author } = options;
  const ids = Object.fromEntries(
    child.map(({ id }, index) => [`--child ${index + 1}`, id ?? undefined] as const),
  );
  return withManagedLedger(context, { ids: { ID: taskId, ...ids } }, async (ledger) => {
    const answer = await ledger.tasks.decompose({
      taskId,
      rootAssignee: assignee ?? null,
      author: author ?? null,
      children: child.map(({ id, title }) => (id === null ? { title } : { taskId: id, title })),
    });
    return printAnswer(context, answer, (done) =>
      [taskText(done), ...done.children.map((id) => `  child ${printable(id)}`)].join('\n'),
    );
  });
}

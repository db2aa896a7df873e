import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { withManagedLedger } from '../open-managed.ts';
import { printAnswer } from '../output/answer.ts';
import { taskText } from '../output/task-text.ts';

/** Options of `task create`. */
export interface TaskCreateOptions {
  /** A new id when absent. */
  readonly id?: string | undefined;
  readonly title: string;
  readonly body?: string | undefined;
  readonly assignee?: string | undefined;
  readonly priority?: number | undefined;
  readonly maxRetries?: number | undefined;
  /** Tasks that must be done first. */
  readonly parent?: readonly string[] | undefined;
  readonly triage?: boolean | undefined;
}

/** Creates a managed task. */
export async function taskCreate(context: CommandContext, options: TaskCreateOptions): Promise<ExitCode> {
  const { id, title, body, assignee, priority, maxRetries, parent = [], triage } = options;
  const parents = Object.fromEntries(parent.map((value, index) => [`--parent ${index + 1}`, value]));
  return withManagedLedger(context, { use: 'create', ids: { '--id': id, ...parents } }, async (ledger) => {
    const answer = await ledger.tasks.create({
      ...(id === undefined ? {} : { taskId: id }),
      title,
      body: body ?? null,
      assignee: assignee ?? null,
      priority: priority ?? 0,
      maxRetries: maxRetries ?? null,
      parents: parent,
      ...(triage === true ? { initial: 'triage' as const } : {}),
    });
    return printAnswer(context, answer, taskText);
  });
}

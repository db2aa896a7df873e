import type { Command } from 'commander';
import { Option } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { TaskBlockOptions, TaskCommentOptions, TaskPromoteOptions } from '../commands/task-change.ts';
import type { TaskCreateOptions } from '../commands/task-create.ts';
import type { TaskCancelOptions, TaskCompleteOptions } from '../commands/task-end.ts';
import type { TaskDecomposeOptions, TaskSpecifyOptions } from '../commands/task-triage.ts';
import { child, priority, repeated, text } from '../input/managed-options.ts';
import { wholeNumber } from '../input/parse-options.ts';
import { withExample } from './with-example.ts';

type Of<Options> = Omit<Options, 'taskId'>;

/** The option that says why a task is blocked; the words are those of `BLOCK_KINDS`. */
export function blockKindOption(): Option {
  return new Option(
    '--kind <kind>',
    'what is missing; two blocks of one kind in a row send to triage',
  ).choices(['dependency', 'needs_input', 'capability', 'transient']);
}

/** Commands of operators on managed tasks. */
export function defineManagedTaskCommands(task: Command, run: CommandRunner): void {
  defineCreate(task, run);
  defineChanges(task, run);
  defineBlocks(task, run);
  defineTriage(task, run);
  defineEnds(task, run);
}

function defineCreate(task: Command, run: CommandRunner): void {
  withExample(
    task
      .command('create')
      .description('create a managed task: its claims and its end go through the ledger')
      .option('--id <id>', 'its id; a new one when absent')
      .requiredOption('--title <title>', 'what is to be done', text('--title'))
      .option('--body <text>', 'more about it')
      .option('--parent <id>', 'a task that must be done first; may be repeated', repeated)
      .option('--assignee <name>', 'who it is meant for', text('--assignee'))
      .option('--priority <number>', 'greater goes first', priority)
      .option('--max-retries <count>', 'failures in a row that block it', wholeNumber('--max-retries'))
      .option('--triage', 'it must be specified or split first')
      .action((options: TaskCreateOptions) =>
        run(async () => (await import('../commands/task-create.ts')).taskCreate, options),
      ),
    `custody task create --id task-8 --title Report --parent task-7`,
  );
}

function verb(task: Command, name: string, description: string): Command {
  return task.command(name).description(description).argument('<id>', 'id of the task');
}

function defineChanges(task: Command, run: CommandRunner): void {
  withExample(
    verb(task, 'link', 'make a task wait for another one')
      .requiredOption('--parent <id>', 'the task that must be done first')
      .action((taskId: string, { parent }: { readonly parent: string }) =>
        run(async () => (await import('../commands/task-change.ts')).taskLink, { taskId, parent }),
      ),
    'custody task link task-8 --parent task-7',
  );
  withExample(
    verb(task, 'assign', 'give a task to somebody')
      .requiredOption('--to <name>', 'the new assignee', text('--to'))
      .action((taskId: string, { to }: { readonly to: string }) =>
        run(async () => (await import('../commands/task-change.ts')).taskAssign, { taskId, to }),
      ),
    'custody task assign task-8 --to alice',
  );
  withExample(
    verb(task, 'comment', 'keep a remark on a task')
      .requiredOption('--author <name>', 'who says it', text('--author'))
      .requiredOption('--body <text>', 'what is said', text('--body'))
      .option('--run <id>', 'the run of the author')
      .action((taskId: string, options: Of<TaskCommentOptions>) =>
        run(async () => (await import('../commands/task-change.ts')).taskComment, { ...options, taskId }),
      ),
    'custody task comment task-8 --author alice --body half-done',
  );
  withExample(
    verb(task, 'promote', 'make a waiting or blocked task ready')
      .requiredOption('--operator <name>', 'who decides it', text('--operator'))
      .option('--reason <text>', 'why')
      .action((taskId: string, options: Of<TaskPromoteOptions>) =>
        run(async () => (await import('../commands/task-change.ts')).taskPromote, { ...options, taskId }),
      ),
    'custody task promote task-8 --operator alice',
  );
}

function defineBlocks(task: Command, run: CommandRunner): void {
  withExample(
    verb(task, 'block', 'hold a task up; the run that holds it loses it')
      .requiredOption('--reason <text>', 'why', text('--reason'))
      .addOption(blockKindOption())
      .action((taskId: string, options: Of<TaskBlockOptions>) =>
        run(async () => (await import('../commands/task-change.ts')).taskBlock, { ...options, taskId }),
      ),
    'custody task block task-8 --reason no-budget --kind needs_input',
  );
  withExample(
    verb(task, 'unblock', 'let a blocked task go on').action((taskId: string) =>
      run(async () => (await import('../commands/task-change.ts')).taskUnblock, { taskId }),
    ),
    'custody task unblock task-8',
  );
}

function defineTriage(task: Command, run: CommandRunner): void {
  withExample(
    verb(task, 'specify', 'take a task out of triage with a better description')
      .option('--title <title>', 'what is to be done', text('--title'))
      .option('--body <text>', 'more about it')
      .option('--assignee <name>', 'who it is meant for', text('--assignee'))
      .option('--author <name>', 'who specifies it', text('--author'))
      .action((taskId: string, options: Of<TaskSpecifyOptions>) =>
        run(async () => (await import('../commands/task-triage.ts')).taskSpecify, { ...options, taskId }),
      ),
    'custody task specify task-8 --title Report-of-May --author alice',
  );
  withExample(
    verb(task, 'decompose', 'split a task in triage into children that it then waits for')
      .requiredOption('--child <title>', 'TITLE or ID=TITLE; repeated, one for each child', child)
      .option('--assignee <name>', 'who puts the parts together', text('--assignee'))
      .option('--author <name>', 'who splits it', text('--author'))
      .action((taskId: string, options: Of<TaskDecomposeOptions>) =>
        run(async () => (await import('../commands/task-triage.ts')).taskDecompose, { ...options, taskId }),
      ),
    'custody task decompose task-8 --child task-9=Numbers --child Text',
  );
}

function defineEnds(task: Command, run: CommandRunner): void {
  withExample(
    verb(task, 'complete', 'complete a task by an operator, whoever holds it')
      .requiredOption('--operator <name>', 'who completes it', text('--operator'))
      .option('--result <text>', 'what came out')
      .option('--summary <text>', 'in a line; the result when absent')
      .option('--force', "also while a person's answer is awaited")
      .action((taskId: string, options: Of<TaskCompleteOptions>) =>
        run(async () => (await import('../commands/task-end.ts')).taskComplete, { ...options, taskId }),
      ),
    'custody task complete task-8 --operator alice --result done',
  );
  withExample(
    verb(task, 'cancel', 'end a task that is no longer wanted')
      .option('--reason <text>', 'why')
      .action((taskId: string, options: Of<TaskCancelOptions>) =>
        run(async () => (await import('../commands/task-end.ts')).taskCancel, { ...options, taskId }),
      ),
    'custody task cancel task-8 --reason obsolete',
  );
  withExample(
    verb(task, 'archive', 'file a task away; one that has not ended is given up by it').action(
      (taskId: string) => run(async () => (await import('../commands/task-end.ts')).taskArchive, { taskId }),
    ),
    'custody task archive task-8',
  );
}

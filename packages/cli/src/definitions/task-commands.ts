import type { Command } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { TaskGetOptions } from '../commands/task-get.ts';
import type { TaskListOptions } from '../commands/task-list.ts';
import { defineManagedTaskCommands } from './managed-task-commands.ts';
import { withExample } from './with-example.ts';

/** Commands that write and read task rows. */
export function defineTaskCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Tasks:');
  const task = program
    .command('task')
    .description('put, get and list task rows; create, change and end managed tasks');
  withExample(
    task
      .command('put')
      .description('write rows: a JSON object, an array of them, or JSON Lines')
      .argument('[file]', 'path, or - for stdin')
      .action((file: string | undefined) =>
        run(async () => (await import('../commands/task-put.ts')).taskPut, { file }),
      ),
    `echo '{"task_id":"task-7","status":"failed"}' | custody task put`,
  );
  withExample(
    task
      .command('get')
      .description('print a row')
      .argument('<id>', 'id of the task')
      .option('--effective', 'follow retries and replicas, as a reader of results sees it')
      .action((taskId: string, options: Omit<TaskGetOptions, 'taskId'>) =>
        run(async () => (await import('../commands/task-get.ts')).taskGet, { ...options, taskId }),
      ),
    'custody task get task-7 --effective',
  );
  withExample(
    task
      .command('list')
      .description('print rows by task id')
      .option('--stale', 'only rows that stopped being true')
      .option('--status <status>', 'only rows with this status')
      .action((options: TaskListOptions) =>
        run(async () => (await import('../commands/task-list.ts')).taskList, options),
      ),
    'custody task list --status failed --json',
  );
  defineManagedTaskCommands(task, run);
}

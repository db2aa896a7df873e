import type { Command } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { RunClaimOptions } from '../commands/run-claim.ts';
import type {
  RunBlockOptions,
  RunCompleteOptions,
  RunFailOptions,
  RunReclaimOptions,
} from '../commands/run-end.ts';
import type {
  RunHeartbeatOptions,
  RunPushOptions,
  RunRefreshOptions,
  RunSubmitOptions,
} from '../commands/run-report.ts';
import { fence, processId, text } from '../input/managed-options.ts';
import { duration } from '../input/parse-options.ts';
import { blockKindOption } from './managed-task-commands.ts';
import { defineAskingCommands } from './question-commands.ts';
import { withExample } from './with-example.ts';

/** Commands of holders on the tasks that they hold. */
export function defineRunCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Runs:');
  const runs = program.command('run').description('claim managed tasks, report on them, and end them');
  defineClaim(runs, run);
  defineReports(runs, run);
  defineAskingCommands(runs, run);
  defineEnds(runs, run);
  defineReclaim(runs, run);
}

function ofRun(command: Command): Command {
  return command
    .requiredOption('--run <id>', 'the run, as its claim named it')
    .requiredOption('--fence <number>', 'the fence that the claim gave', fence);
}

function ofTask(command: Command): Command {
  return command.requiredOption('--task <id>', 'the task that the run holds');
}

function defineClaim(runs: Command, run: CommandRunner): void {
  withExample(
    runs
      .command('claim')
      .description('ask for a task; exit 1 when there is nothing to claim')
      .requiredOption('--holder <name>', 'who asks, for people to read', text('--holder'))
      .option('--task <id>', 'this one; whatever is due when absent')
      .option(
        '--ttl <span>',
        'how long a sign of life is good for; 15m unless the store keeps another',
        duration('--ttl'),
      )
      .option('--pid <pid>', 'the process that a reclaim stops', processId)
      .action((options: RunClaimOptions) =>
        run(async () => (await import('../commands/run-claim.ts')).runClaim, options),
      ),
    'custody run claim --holder alice --ttl 15m --json',
  );
}

function defineReports(runs: Command, run: CommandRunner): void {
  withExample(
    ofRun(runs.command('heartbeat').description('give a sign of life'))
      .option('--ttl <span>', 'another span from now on, such as 30m', duration('--ttl'))
      .action((options: RunHeartbeatOptions) =>
        run(async () => (await import('../commands/run-report.ts')).runHeartbeat, options),
      ),
    'custody run heartbeat --run run-9 --fence 12',
  );
  withExample(
    ofRun(runs.command('push').description('report a state; a sign of life as well'))
      .requiredOption('--state <state>', 'the state, such as working', text('--state'))
      .option('--note <text>', 'more about it')
      .action((options: RunPushOptions) =>
        run(async () => (await import('../commands/run-report.ts')).runPush, options),
      ),
    'custody run push --run run-9 --fence 12 --state working',
  );
  withExample(
    runs
      .command('refresh')
      .description('ask for the current fence of a run that you hold')
      .requiredOption('--run <id>', 'the run, as its claim named it')
      .requiredOption('--holder <name>', 'the holder, as it claimed', text('--holder'))
      .action((options: RunRefreshOptions) =>
        run(async () => (await import('../commands/run-report.ts')).runRefresh, options),
      ),
    'custody run refresh --run run-9 --holder alice',
  );
  withExample(
    ofRun(ofTask(runs.command('submit').description('hand in the outcome of a step exactly once')))
      .requiredOption('--key <key>', 'names the step; the same key answers what was stored', text('--key'))
      .requiredOption('--value <text>', 'the outcome')
      .action((options: RunSubmitOptions) =>
        run(async () => (await import('../commands/run-report.ts')).runSubmit, options),
      ),
    'custody run submit --task task-8 --run run-9 --fence 12 --key task-8:step-0 --value ok',
  );
}

function defineEnds(runs: Command, run: CommandRunner): void {
  withExample(
    ofTask(runs.command('complete').description('complete a task by the run that holds it'))
      .requiredOption('--run <id>', 'the run, as its claim named it')
      .option('--fence <number>', 'the fence that the claim gave', fence)
      .option('--replay', 'in place of the fence: the run has ended, and nobody acted since')
      .requiredOption('--result <text>', 'what came out')
      .option('--summary <text>', 'in a line; the result when absent')
      .action((options: RunCompleteOptions) =>
        run(async () => (await import('../commands/run-end.ts')).runComplete, options),
      ),
    'custody run complete --task task-8 --run run-9 --fence 12 --result done',
    'custody run complete --task task-8 --run run-9 --replay --result done',
  );
  withExample(
    ofRun(ofTask(runs.command('fail').description('end a task as failed: it can not be done')))
      .requiredOption('--reason <text>', 'why', text('--reason'))
      .action((options: RunFailOptions) =>
        run(async () => (await import('../commands/run-end.ts')).runFail, options),
      ),
    'custody run fail --task task-8 --run run-9 --fence 12 --reason impossible',
  );
  withExample(
    ofRun(ofTask(runs.command('block').description('hold a task up; the run ends')))
      .requiredOption('--reason <text>', 'why', text('--reason'))
      .addOption(blockKindOption())
      .action((options: RunBlockOptions) =>
        run(async () => (await import('../commands/run-end.ts')).runBlock, options),
      ),
    'custody run block --task task-8 --run run-9 --fence 12 --reason no-key --kind needs_input',
  );
}

function defineReclaim(runs: Command, run: CommandRunner): void {
  withExample(
    ofTask(
      runs.command('reclaim').description('take a task away from exactly one run; its process is stopped'),
    )
      .requiredOption('--run <id>', 'the run that is to lose it')
      .requiredOption('--reason <text>', 'why', text('--reason'))
      .action((options: RunReclaimOptions) =>
        run(async () => (await import('../commands/run-end.ts')).runReclaim, options),
      ),
    'custody run reclaim --task task-8 --run run-9 --reason stuck',
  );
  withExample(
    runs
      .command('list')
      .description('print every run of a task, oldest first')
      .requiredOption('--task <id>', 'the task')
      .action(({ task }: { readonly task: string }) =>
        run(async () => (await import('../commands/run-list.ts')).runList, { task }),
      ),
    'custody run list --task task-8',
  );
}

import type { Command } from 'commander';
import { Option } from 'commander';
import type { AuditOptions } from '../audit/audit-screen.ts';
import type { CommandRunner } from '../command-context.ts';
import type { DemoOptions } from '../commands/demo.ts';
import type { VerifyOptions } from '../commands/verify.ts';
import { asOf } from '../input/as-of.ts';
import { text } from '../input/managed-options.ts';
import { duration, expectedHead, wholeNumber } from '../input/parse-options.ts';
import { withExample } from './with-example.ts';

const TASK_ID = 'id of the task';

/** Commands that read, and never make, migrate or repair anything. */
export function defineLookCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Look:');
  withExample(
    program
      .command('audit')
      .description('who holds what, since when, and do the rows say so')
      .argument('[tasks...]', 'ids of tasks; those that owe something when absent')
      .option('--all', 'every task that has a row or owes something')
      .option('--check', 'exit 1 when something is owed or a row is not true')
      .option('--as-of <seq|time>', 'the answer as it was there, from the log alone; times are UTC', asOf)
      .addOption(
        new Option('--watch [span]', 'again and again until SIGINT, this far apart; 2s when no span is given')
          .preset('2s')
          .argParser(duration('--watch')),
      )
      .option(
        '--limit <count>',
        'show at most this many items; what fits the terminal, else 20',
        wholeNumber('--limit'),
      )
      .action((taskIds: string[], options: Omit<AuditOptions, 'taskIds'>) =>
        run(async () => (await import('../commands/audit.ts')).audit, { ...options, taskIds }),
      ),
    'custody audit --check',
  );
  const inspect = program
    .command('inspect')
    .description('a record, what it owes, and everything recorded of it');
  withExample(
    inspect
      .command('task')
      .description('a task: its row, its obligations, its timeline')
      .argument('<id>', TASK_ID)
      .action((taskId: string) =>
        run(async () => (await import('../commands/inspect-task.ts')).inspectTask, { taskId }),
      ),
    'custody inspect task task-7',
  );
  withExample(
    inspect
      .command('run')
      .description('a run: its record, its obligations, its timeline')
      .argument('<id>', 'id of the run')
      .action((runId: string) =>
        run(async () => (await import('../commands/inspect-run.ts')).inspectRun, { runId }),
      ),
    'custody inspect run run-9',
  );
  withExample(
    program
      .command('explain')
      .description('why a row says what it says: the events behind each field, and every heal')
      .argument('<task>', TASK_ID)
      .action((taskId: string) =>
        run(async () => (await import('../commands/explain.ts')).explain, { taskId }),
      ),
    'custody explain task-7',
  );
  withExample(
    program
      .command('handoff')
      .description("what a model is told of a task's custody")
      .argument('<task>', TASK_ID)
      .action((taskId: string) =>
        run(async () => (await import('../commands/handoff.ts')).handoff, { taskId }),
      ),
    'custody handoff task-7',
  );
  withExample(
    program
      .command('stats')
      .description('the figures of the ledger that an operator watches')
      .action(() => run(async () => (await import('../commands/stats.ts')).stats, {})),
    'custody stats --json',
  );
  withExample(
    program
      .command('verify')
      .description('prove that nothing was lost or edited; exit 1 if something was')
      .option('--rebuild', 'also compare every table with a replay of the log')
      .option('--expect-head <seq:hash>', 'the log must still contain this head, noted earlier', expectedHead)
      .option(
        '--checkpoint <file>',
        'a signed checkpoint that was kept elsewhere; needs --public-key',
        text('--checkpoint'),
      )
      .option('--public-key <file>', 'the Ed25519 public key that is trusted, PEM', text('--public-key'))
      .option('--rows <file>', 'the list that was written with the checkpoint', text('--rows'))
      .action((options: VerifyOptions) =>
        run(async () => (await import('../commands/verify.ts')).verify, options),
      ),
    'custody verify --rebuild',
  );
  withExample(
    program
      .command('demo')
      .description('heal a sample ledger in a directory of its own and show what changed')
      .option('--dir <path>', 'keep the demo here; a fresh temporary directory when absent')
      .action((options: DemoOptions) => run(async () => (await import('../commands/demo.ts')).demo, options)),
    'custody demo',
  );
}

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
import { withManual } from './with-manual.ts';

const TASK_ID = 'id of the task';

/** Commands that read, and never make, migrate or repair anything. */
export function defineLookCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Look:');
  withManual(
    program
      .command('audit')
      .description('who holds what, since when, and do the rows say so')
      .argument('[tasks...]', 'ids of tasks; those that owe something when absent')
      .option('--all', 'every task that has a row or owes something')
      .option('--all-ledgers', 'every ledger of the database, one after the other')
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
    {
      about: [
        'Lists every debt: how long, whose, who has it, why, and the command that deals with it, oldest first; below it the runs that hold their tasks. Then rows that are not true, parked and deferred tasks, and events that no sweep has seen, when there are any.',
        '--as-of replays the log up to there and nothing else. What the log does not tell is named: whether rows were true, which leases had run out, parked and deferred tasks.',
        'Words in capitals in a command stand for what only you know.',
        'With --all-ledgers and --json each ledger is a document on a line of its own.',
      ],
      exits: [
        '1  with --check: something is owed, a row is not true, a task is parked; 0 when a run merely holds its task',
      ],
      examples: [
        'custody audit',
        'custody audit --check --json',
        'custody audit --as-of 2026-03-01T03:12:00Z',
        'custody audit --watch 5s',
      ],
    },
  );
  const inspect = program
    .command('inspect')
    .description('a record, what it owes, and everything recorded of it');
  withManual(
    inspect
      .command('task')
      .description('a task: its row, its obligations, its timeline')
      .argument('<id>', TASK_ID)
      .action((taskId: string) =>
        run(async () => (await import('../commands/inspect-task.ts')).inspectTask, { taskId }),
      ),
    {
      about: [
        'Runs stand as bars over time: = it ran, > it goes on, . what it left is still owed, ? nobody knows whether it began.',
      ],
      exits: ['1  there is no such task'],
      examples: ['custody inspect task task-7'],
    },
  );
  withManual(
    inspect
      .command('run')
      .description('a run: its record, its obligations, its timeline')
      .argument('<id>', 'id of the run')
      .action((runId: string) =>
        run(async () => (await import('../commands/inspect-run.ts')).inspectRun, { runId }),
      ),
    {
      exits: ['1  there is no such run'],
      examples: ['custody inspect run run-9'],
    },
  );
  withManual(
    program
      .command('explain')
      .description('why a row says what it says: the events behind each field, and every heal')
      .argument('<task>', TASK_ID)
      .action((taskId: string) =>
        run(async () => (await import('../commands/explain.ts')).explain, { taskId }),
      ),
    {
      about: [
        'Each field is frozen (nothing changes it any more), live (kept true by the reconciler, or still changing), or untrue (a heal would change it), with the events that it rests on: seq, time, type. Then what a heal would change now, and every heal with before and after.',
      ],
      exits: ['1  there is no row of such a task'],
      examples: ['custody explain task-7'],
    },
  );
  withManual(
    program
      .command('handoff')
      .description("what a model is told of a task's custody")
      .argument('<task>', TASK_ID)
      .action((taskId: string) =>
        run(async () => (await import('../commands/handoff.ts')).handoff, { taskId }),
      ),
    {
      about: [
        'Reads the row that a reader of results sees: retries and replicas are followed. Lists are cut after ten items.',
      ],
      exits: ['1  there is no row of such a task'],
      examples: ['custody handoff task-7'],
    },
  );
  withManual(
    program
      .command('stats')
      .description('the figures of the ledger that an operator watches')
      .action(() => run(async () => (await import('../commands/stats.ts')).stats, {})),
    {
      about: [
        'cursor lag counts events (lines, on a JSONL store) that no sweep has looked at; deferred are tasks that sweeps wait for; parked are tasks that failed to heal five times, which sweeps leave alone.',
      ],
      examples: ['custody stats', 'custody stats --json'],
    },
  );
  withManual(
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
    {
      about: [
        'Checks the chain of hashes over every event; --rebuild also replays the log and compares every table and every row of a managed task with it. Opens the store for reading only and touches nothing on disk.',
        'Notes are worth knowing and no faults: torn lines that were kept, verdicts that were ignored.',
      ],
      exits: [
        '1  something was lost, edited or added behind the ledger; each problem is named with its place',
      ],
      examples: ['custody verify --rebuild'],
    },
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

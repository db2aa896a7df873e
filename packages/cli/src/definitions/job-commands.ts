import type { Command } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { InitOptions } from '../commands/init.ts';
import type { ReconcileOptions } from '../commands/reconcile.ts';
import type { SweepOptions } from '../commands/sweep.ts';
import { repeated, setting } from '../input/managed-options.ts';
import { duration, planHash } from '../input/parse-options.ts';
import type { PassFlags } from '../open-reconciler.ts';
import { withExample } from './with-example.ts';

const LIVE_HELP =
  'tasks whose owners are alive: IDs parted by commas, or @FILE; "" means nobody, absent means not known';
const JOURNAL_HELP = 'a folder of results to recover first; may be repeated';
const GATEWAY_HELP = 'how to ask for runs: none, process, or http:URLTEMPLATE with {run_id} in it';

/** Commands that make the store and heal its rows. */
export function defineJobCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Jobs:');
  withExample(
    program
      .command('init')
      .description('make the store; running it twice is fine')
      .option(
        '--set <name=span>',
        'keep a time of managed tasks in the store: CUSTODY_CRASH_GRACE, CUSTODY_PARK_SETTLE or CUSTODY_LEASE_TTL; may be repeated',
        setting,
      )
      .action((options: InitOptions) => run(async () => (await import('../commands/init.ts')).init, options)),
    'custody -s sqlite:ledger.db init',
    'custody init --set CUSTODY_LEASE_TTL=5m --set CUSTODY_CRASH_GRACE=30s',
  );
  withExample(
    withPassOptions(
      program.command('backfill').description('at boot: heal every terminal row that stopped being true'),
    ).action((options: PassFlags) =>
      run(async () => (await import('../commands/backfill.ts')).backfill, options),
    ),
    'custody backfill --dry-run',
  );
  withExample(
    withPassOptions(
      program
        .command('sweep')
        .description('periodically: ask for orphaned runs, heal rows whose runs settled'),
    )
      .option('--live <ids>', LIVE_HELP)
      .option('--gateway <gateway>', GATEWAY_HELP)
      .option('--journal <dir>', JOURNAL_HELP, repeated)
      .action((options: SweepOptions) =>
        run(async () => (await import('../commands/sweep.ts')).sweep, options),
      ),
    'custody sweep --live task-7,task-9 --gateway http:http://localhost:8080/runs/{run_id}',
  );
  withExample(
    withPassOptions(
      program
        .command('clear')
        .description('on the kill path: heal the row of one task now')
        .argument('<task>', 'id of the task'),
    ).action((taskId: string, options: PassFlags) =>
      run(async () => (await import('../commands/clear.ts')).clear, { ...options, taskId }),
    ),
    'custody clear task-7',
  );
  withExample(
    program
      .command('reconcile')
      .description('the loop: one backfill, then sweeps until SIGTERM; one leader among processes')
      .option('--every <span>', 'a sweep each 500ms, 30s, 15m, ...', duration('--every'))
      .option('--cron <expression>', 'a sweep when the expression is due (UTC)')
      .option('--once', 'stop after one backfill and one sweep')
      .option('--live <ids>', `${LIVE_HELP}; a file is read again before each sweep`)
      .option('--gateway <gateway>', GATEWAY_HELP)
      .option('--journal <dir>', JOURNAL_HELP, repeated)
      .action((options: ReconcileOptions) =>
        run(async () => (await import('../commands/reconcile.ts')).reconcile, options),
      ),
    'custody reconcile --every 30s --live @live-tasks.txt',
  );
}

function withPassOptions(command: Command): Command {
  return command
    .option('--dry-run', 'print the plan and its hash, write nothing')
    .option('--plan <hex>', 'apply exactly the plan with this hash, or refuse', planHash);
}

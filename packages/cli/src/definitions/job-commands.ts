import type { Command } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { InitOptions } from '../commands/init.ts';
import type { ReconcileOptions } from '../commands/reconcile.ts';
import type { SweepOptions } from '../commands/sweep.ts';
import { repeated, setting } from '../input/managed-options.ts';
import { duration, planHash } from '../input/parse-options.ts';
import type { PassFlags } from '../open-reconciler.ts';
import { withManual } from './with-manual.ts';

const LIVE_HELP =
  'tasks whose owners are alive: IDs parted by commas, or @FILE; "" means nobody, absent means not known';
const JOURNAL_HELP = 'a folder of results to recover first; may be repeated';
const GATEWAY_HELP = 'how to ask for runs: none, process, or http:URLTEMPLATE with {run_id} in it';

/** Commands that make the store and heal its rows. */
export function defineJobCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Jobs:');
  withManual(
    program
      .command('init')
      .description('make the store; running it twice is fine')
      .option(
        '--set <name=span>',
        'keep a time of managed tasks in the store: CUSTODY_CRASH_GRACE, CUSTODY_PARK_SETTLE or CUSTODY_LEASE_TTL; may be repeated',
        setting,
      )
      .action((options: InitOptions) => run(async () => (await import('../commands/init.ts')).init, options)),
    {
      about: [
        'Also brings an older store to the newest schema. Times that are kept: CUSTODY_LEASE_TTL (15m: how long a claim is good for without a sign of life), CUSTODY_CRASH_GRACE (120s: how long a fresh run is left alone although its worker seems gone), CUSTODY_PARK_SETTLE (5s: the same after a report). Every process goes by them at once. Spans have the units ms, s, m, h and d.',
      ],
      examples: [
        'custody -s sqlite:ledger.db init',
        'custody init --set CUSTODY_LEASE_TTL=5m --set CUSTODY_CRASH_GRACE=30s',
      ],
    },
  );
  withManual(
    withPassOptions(
      program.command('backfill').description('at boot: heal every terminal row that stopped being true'),
    ).action((options: PassFlags) =>
      run(async () => (await import('../commands/backfill.ts')).backfill, options),
    ),
    {
      about: [
        'Compares every terminal row that may have changed with the log, and writes its live fields where they differ; frozen fields never change. Twice in a row changes nothing the second time.',
        'A dry run prints what would change and the hash of exactly that plan; --plan applies it, or refuses if one event or row changed meanwhile. It opens the store for reading only.',
      ],
      exits: [
        '1  with --plan: it is no longer the plan that would be made (reason plan_changed); nothing was written',
      ],
      examples: ['custody backfill', 'custody backfill --dry-run'],
    },
  );
  withManual(
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
    {
      about: [
        'In this order: results that wait in journals, leases that nobody keeps, orphaned runs through the gateway, then the rows of runs that settled since the last sweep. Without --live nobody knows whose owner is gone, and no orphan is looked at.',
        'A plan covers rows; the gateway is not asked. A gateway stops nothing and starts nothing from here.',
      ],
      exits: [
        '1  with --plan: it is no longer the plan that would be made (reason plan_changed); nothing was written',
      ],
      examples: [
        'custody sweep --live @live-tasks.txt',
        'custody sweep --live task-7,task-9 --gateway http:http://localhost:8080/runs/{run_id}',
      ],
    },
  );
  withManual(
    withPassOptions(
      program
        .command('clear')
        .description('on the kill path: heal the row of one task now')
        .argument('<task>', 'id of the task'),
    ).action((taskId: string, options: PassFlags) =>
      run(async () => (await import('../commands/clear.ts')).clear, { ...options, taskId }),
    ),
    {
      about: ['A row that is true, of a task that has not ended, or that is not there is not written.'],
      exits: [
        '1  with --plan: it is no longer the plan that would be made (reason plan_changed); nothing was written',
      ],
      examples: ['custody clear task-7', 'custody clear task-7 --dry-run'],
    },
  );
  withManual(
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
    {
      about: [
        'One process leads by a lease of 10 seconds in the store; the others wait and take over. The first SIGINT or SIGTERM ends it after the pass under way, with exit code 0; a second one ends it at once.',
      ],
      examples: ['custody reconcile --every 30s --live @live-tasks.txt', 'custody reconcile --once'],
    },
  );
}

function withPassOptions(command: Command): Command {
  return command
    .option('--dry-run', 'print the plan and its hash, write nothing')
    .option('--plan <hex>', 'apply exactly the plan with this hash, or refuse', planHash);
}

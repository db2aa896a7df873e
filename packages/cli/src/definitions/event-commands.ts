import type { Command } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { EventAppendOptions } from '../commands/event-append.ts';
import type { EventFollowOptions } from '../commands/event-follow.ts';
import type { EventListOptions } from '../commands/event-list.ts';
import { duration, wholeNumber } from '../input/parse-options.ts';
import { withExample } from './with-example.ts';

/** How often `event follow` looks, in milliseconds: fast enough for an eye, idle enough for a store. */
const FOLLOW_INTERVAL_MS = 250;

/** Commands that write and read the log. */
export function defineEventCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Events:');
  const event = program.command('event').description('append, list, follow, import and export events');
  defineAppend(event.command('append'), run);
  defineAppend(program.command('append'), run).description('the same as event append');
  withExample(
    withFilter(event.command('list').description('print events in the order of the log'))
      .option('--after <seq>', 'events after this seq only', wholeNumber('--after'))
      .option('--limit <count>', 'at most this many', wholeNumber('--limit'))
      .action((options: EventListOptions) =>
        run(async () => (await import('../commands/event-list.ts')).eventList, options),
      ),
    'custody event list --task task-7 --json',
  );
  withExample(
    withFilter(event.command('follow').description('print new events as they are appended, until SIGINT'))
      .option('--after <seq>', 'begin after this seq; with what is new when absent', wholeNumber('--after'))
      .option('--interval <span>', 'between two looks', duration('--interval'), FOLLOW_INTERVAL_MS)
      .action((options: EventFollowOptions) =>
        run(async () => (await import('../commands/event-follow.ts')).eventFollow, options),
      ),
    'custody event follow --type run.settled',
  );
  withExample(
    event
      .command('import')
      .description('take over a data root, a JSONL store or an export; again is harmless')
      .argument('<path>', 'directory or file')
      .action((path: string) =>
        run(async () => (await import('../commands/event-import.ts')).eventImport, { path }),
      ),
    'custody event import /var/lib/orchestrator',
  );
  withExample(
    event
      .command('export')
      .description('print every event as JSON Lines, byte for byte as it is chained')
      .action(() => run(async () => (await import('../commands/event-export.ts')).eventExport, {})),
    'custody event export > ledger.jsonl',
  );
}

function defineAppend(command: Command, run: CommandRunner): Command {
  return withExample(
    command
      .description('append events from JSON Lines; a bad line stops, the lines before it are written')
      .argument('[file]', 'path, or - for stdin')
      .option('--atomic', 'all events or none')
      .action((file: string | undefined, options: Omit<EventAppendOptions, 'file'>) =>
        run(async () => (await import('../commands/event-append.ts')).eventAppend, { ...options, file }),
      ),
    `echo '{"type":"run.started","task_id":"task-7","run_id":"run-9"}' | custody event append`,
  );
}

function withFilter(command: Command): Command {
  return command
    .option('--task <id>', 'events of this task only')
    .option('--run <id>', 'events of this run only')
    .option('--type <type>', 'events of this type only');
}

import type { Command } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { EventAppendOptions } from '../commands/event-append.ts';
import type { EventFollowOptions } from '../commands/event-follow.ts';
import type { EventListOptions } from '../commands/event-list.ts';
import { duration, wholeNumber } from '../input/parse-options.ts';
import { withExample } from './with-example.ts';
import { withManual } from './with-manual.ts';

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
  withManual(
    event
      .command('import')
      .description('take over a data root, a JSONL store, an export, JSON Lines or a kanban board')
      .argument('<path>', 'directory or file; it is only read')
      .action((path: string) =>
        run(async () => (await import('../commands/event-import.ts')).eventImport, { path }),
      ),
    {
      about: [
        'Every event has an id that follows from its place, so the same again appends nothing, and a source that grew gives what is new. Rows come along where there are some; a terminal row of this ledger is never changed.',
        'An export into an empty ledger keeps seq, ids and hashes. A Hermes kanban.db becomes observed tasks: starts and ends of its runs, its history as x.kanban.*, its rows.',
        'What was skipped is counted by why on stderr, with the first hundred places.',
      ],
      exits: [
        '2  a line of an export was changed after it was exported; nothing of it was imported',
        '3  there is nothing at the path, or it can not be read',
      ],
      examples: ['custody event import /var/lib/orchestrator', 'custody event import ~/.hermes/kanban.db'],
    },
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

import type { Command } from 'commander';
import { Option } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { EventAppendOptions } from '../commands/event-append.ts';
import type { EventFollowOptions } from '../commands/event-follow.ts';
import type { EventListOptions } from '../commands/event-list.ts';
import { duration, wholeNumber } from '../input/parse-options.ts';
import { withManual } from './with-manual.ts';

/** How often `event follow` looks, in milliseconds: fast enough for an eye, idle enough for a store. */
const FOLLOW_INTERVAL_MS = 250;

/** Commands that write and read the log. */
export function defineEventCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Events:');
  const event = program.command('event').description('append, list, follow, import and export events');
  defineAppend(event.command('append'), run);
  defineAppend(program.command('append'), run).description('the same as event append');
  withManual(
    withFilter(event.command('list').description('print events in the order of the log'))
      .option('--after <seq>', 'events after this seq only', wholeNumber('--after'))
      .option('--limit <count>', 'at most this many', wholeNumber('--limit'))
      .action((options: EventListOptions) =>
        run(async () => (await import('../commands/event-list.ts')).eventList, options),
      ),
    {
      about: ['With --json the lines are byte for byte as they are chained, the hash last.'],
      examples: ['custody event list --task task-7', 'custody event list --after 100 --limit 50 --json'],
    },
  );
  withManual(
    withFilter(event.command('follow').description('print new events as they are appended, until SIGINT'))
      .option('--after <seq>', 'begin after this seq; with what is new when absent', wholeNumber('--after'))
      .option('--last <count>', 'begin this many events back, as tail -n does', wholeNumber('--last'))
      .addOption(
        new Option('--interval <span>', 'between two looks, such as 500ms')
          .default(FOLLOW_INTERVAL_MS, '250ms')
          .argParser(duration('--interval')),
      )
      .action((options: EventFollowOptions) =>
        run(async () => (await import('../commands/event-follow.ts')).eventFollow, options),
      ),
    {
      about: [
        'Like tail -f: goes on until SIGINT or SIGTERM, or until nobody reads any more, and ends with exit code 0.',
      ],
      examples: ['custody event follow --last 10', 'custody event follow --type run.settled --json'],
    },
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
  withManual(
    event
      .command('export')
      .description('print every event as JSON Lines, byte for byte as it is chained')
      .action(() => run(async () => (await import('../commands/event-export.ts')).eventExport, {})),
    {
      about: [
        'Imported into an empty ledger the lines give the same seq, ids and hashes. Rows are not in it: custody task list --json prints those.',
      ],
      examples: ['custody event export > ledger.jsonl'],
    },
  );
}

function defineAppend(command: Command, run: CommandRunner): Command {
  return withManual(
    command
      .description('append events from JSON Lines; a bad line stops, the lines before it are written')
      .argument('[file]', 'path, or - for stdin')
      .option('--atomic', 'all events or none')
      .action((file: string | undefined, options: Omit<EventAppendOptions, 'file'>) =>
        run(async () => (await import('../commands/event-append.ts')).eventAppend, { ...options, file }),
      ),
    {
      about: [
        'What the ledger adds is seq, recorded_at, epoch and hash. An event whose id is known with the same content counts as a duplicate.',
        'Lines that arrive together are one commit. Without --atomic a bad line stops, and the lines before it are written; the error says how many.',
      ],
      exits: [
        '2  a line is no event: its line and field are named',
        '4  another process held the lock for too long',
      ],
      examples: [`echo '{"type":"run.started","task_id":"task-7","run_id":"run-9"}' | custody event append`],
    },
  );
}

function withFilter(command: Command): Command {
  return command
    .option('--task <id>', 'events of this task only')
    .option('--run <id>', 'events of this run only')
    .option('--type <type>', 'events of this type only');
}

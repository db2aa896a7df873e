import type { Command } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { JournalWriteOptions } from '../commands/journal-write.ts';
import { text } from '../input/managed-options.ts';
import { withExample } from './with-example.ts';

/** Commands that keep results in a folder until the ledger has them. */
export function defineJournalCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Journals:');
  const journal = program
    .command('journal')
    .description('keep results durably before the ledger is called, and recover them');
  withExample(
    journal
      .command('write')
      .description('keep the result of a run; the store need not be there')
      .requiredOption('--dir <path>', 'the folder; it is made when it is missing', text('--dir'))
      .requiredOption('--task <id>', 'the task that the run holds')
      .requiredOption('--run <id>', 'the run, as its claim named it')
      .requiredOption('--result <text>', 'what came out')
      .option('--summary <text>', 'in a line; the result when absent')
      .action((options: JournalWriteOptions) =>
        run(async () => (await import('../commands/journal-write.ts')).journalWrite, options),
      ),
    'custody journal write --dir journals --task task-8 --run run-9 --result done',
  );
  withExample(
    journal
      .command('recover')
      .description('hand every waiting result to the ledger; again is harmless')
      .argument('<dir>', 'the folder', text('DIR'))
      .action((dir: string) =>
        run(async () => (await import('../commands/journal-recover.ts')).journalRecover, { dir }),
      ),
    'custody journal recover journals',
  );
}

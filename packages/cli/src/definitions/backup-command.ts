import type { Command } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { BackupOptions } from '../commands/backup.ts';
import { withManual } from './with-manual.ts';

/** The command that copies a store. */
export function defineBackupCommand(program: Command, run: CommandRunner): void {
  program.commandsGroup('Ledger:');
  withManual(
    program
      .command('backup')
      .description('copy a SQLite store while it is in use')
      .argument('<file>', 'path of the copy; its folder must be there')
      .option('--force', 'replace a file that is there; without it that is refused')
      .action((file: string, options: Omit<BackupOptions, 'file'>) =>
        run(async () => (await import('../commands/backup.ts')).backup, { ...options, file }),
      ),
    {
      about: [
        'The copy is made beside its place, checked against a replay of its own log, and then put there in one step: after a crash the path holds a whole backup or what it held before. Writers are not held up. The copy is one file; to restore it, stop every process, remove the store with its -wal and -shm files, and copy it there.',
        'Other stores: exit 2, not_supported, with what to use instead.',
      ],
      exits: [
        '1  the file is there already (reason file_exists)',
        '3  the store or its copy does not verify, or the file can not be written',
      ],
      examples: ['custody backup /backup/custody.db'],
    },
  );
}

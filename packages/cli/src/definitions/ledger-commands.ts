import type { Command } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { LedgerCheckpointOptions } from '../commands/ledger-checkpoint.ts';
import { text } from '../input/managed-options.ts';
import { withExample } from './with-example.ts';

/** Commands on the ledger as a whole. */
export function defineLedgerCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Ledger:');
  const ledger = program.command('ledger').description('sign where the ledger stands');
  withExample(
    ledger
      .command('checkpoint')
      .description('sign the head of the log, for custody verify --checkpoint')
      .requiredOption(
        '--key <file>',
        'Ed25519 private key, PEM (openssl genpkey -algorithm ed25519)',
        text('--key'),
      )
      .option('--out <file>', 'write the checkpoint there, whole or not at all', text('--out'))
      .option('--rows <file>', 'also list the frozen fields of every terminal row there', text('--rows'))
      .action((options: LedgerCheckpointOptions) =>
        run(async () => (await import('../commands/ledger-checkpoint.ts')).ledgerCheckpoint, options),
      ),
    'custody ledger checkpoint --key custody.key --out checkpoint.json',
  );
}

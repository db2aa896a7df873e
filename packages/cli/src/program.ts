import { Command } from 'commander';
import type { CommandRunner } from './command-context.ts';
import { defineBackupCommand } from './definitions/backup-command.ts';
import { defineEventCommands } from './definitions/event-commands.ts';
import { defineFailoverCommands } from './definitions/failover-commands.ts';
import { defineJobCommands } from './definitions/job-commands.ts';
import { defineJournalCommands } from './definitions/journal-commands.ts';
import { defineLedgerCommands } from './definitions/ledger-commands.ts';
import { defineLookCommands } from './definitions/look-commands.ts';
import { defineQuestionCommands } from './definitions/question-commands.ts';
import { defineRunCommands } from './definitions/run-commands.ts';
import { defineServingCommands } from './definitions/serving-commands.ts';
import { defineSimulateCommand } from './definitions/simulate-command.ts';
import { defineTaskCommands } from './definitions/task-commands.ts';

/** The store when neither `-s` nor `CUSTODY_STORE` names one. */
export const DEFAULT_STORE = 'sqlite:.custody/custody.db';

/** What the command line is built from. */
export interface ProgramSettings {
  readonly version: string;
  readonly run: CommandRunner;
  readonly writeOut: (text: string) => void;
  /** Gets what commander would say to stderr: its errors, and the help when a command is missing. */
  readonly writeErr: (text: string) => void;
  /** Columns to which help is wrapped. */
  readonly columns: number;
}

const AFTER_HELP = `
Exit codes: 0 done; 1 refused, nothing to claim, not found, or findings with
--check; 2 wrong usage or invalid input; 3 store missing, unreadable or corrupt;
4 busy, try again.
Every command has an example: custody help COMMAND`;

/** Builds the whole command line. Nothing of it runs before it is parsed, and commands are loaded when they run. */
export function createProgram({ version, run, writeOut, writeErr, columns }: ProgramSettings): Command {
  const program = new Command('custody')
    .description('Know who holds what: a ledger for delegated work, and a reconciler that heals task rows.')
    .version(version, '--version', 'print the version')
    .option(
      '-s, --store <url>',
      `sqlite:PATH, postgres://..., http://HOST:PORT or jsonl:DIR (else CUSTODY_STORE, else ${DEFAULT_STORE})`,
    )
    .option('--json', 'print JSON for programs, as docs/cli-json.md promises')
    .helpOption('-h, --help', 'explain a command')
    .helpCommand('help [command]', 'explain a command')
    .exitOverride()
    .configureOutput({
      writeOut,
      writeErr,
      getOutHelpWidth: () => columns,
      getErrHelpWidth: () => columns,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .addHelpText('after', AFTER_HELP);
  defineJobCommands(program, run);
  defineLookCommands(program, run);
  defineSimulateCommand(program, run);
  defineEventCommands(program, run);
  defineTaskCommands(program, run);
  defineRunCommands(program, run);
  defineQuestionCommands(program, run);
  defineJournalCommands(program, run);
  defineServingCommands(program, run);
  defineFailoverCommands(program, run);
  defineLedgerCommands(program, run);
  defineBackupCommand(program, run);
  return program;
}

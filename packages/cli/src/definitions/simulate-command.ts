import type { Command } from 'commander';
import { Option } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { SimulateOptions } from '../commands/simulate.ts';
import { wholeNumber } from '../input/parse-options.ts';
import { PLACE_KINDS } from '../simulation/place-kinds.ts';
import { withExample } from './with-example.ts';

/** The command that tries to break what custody promises. */
export function defineSimulateCommand(program: Command, run: CommandRunner): void {
  program.commandsGroup('Look:');
  withExample(
    program
      .command('simulate')
      .description(
        'play an invented history with crashes, faults and wrong clocks against a ledger of its own, and check every promise after each step; exit 1 if one broke',
      )
      .option(
        '--seed <n>',
        'the history; the same seed is the same history (default 1)',
        wholeNumber('--seed'),
      )
      .option('--steps <m>', 'how long it is (default 200)', wholeNumber('--steps'))
      .addOption(
        new Option(
          '--on <store>',
          'where its ledger is: in memory, or in a temporary directory (default memory)',
        ).choices(PLACE_KINDS),
      )
      .action((options: SimulateOptions) =>
        run(async () => (await import('../commands/simulate.ts')).simulate, options),
      ),
    'custody simulate --seed 7 --steps 500',
    'custody simulate --seed 7 --on sqlite --json',
  );
}

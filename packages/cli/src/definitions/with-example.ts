import type { Command } from 'commander';

/** Adds an example to the help of a command. */
export function withExample(command: Command, ...lines: readonly string[]): Command {
  return command.addHelpText('after', ['', 'Example:', ...lines.map((line) => `  ${line}`)].join('\n'));
}

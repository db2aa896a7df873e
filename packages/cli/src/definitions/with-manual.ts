import type { Command } from 'commander';
import { wrapText } from '../output/wrap-text.ts';

/** What the help of a command says beside its options. */
export interface Manual {
  /** What it does and what to know of it, a paragraph each. */
  readonly about?: readonly string[];
  /** What its exit codes mean where they say more than usual, each as `1  why`. */
  readonly exits?: readonly string[];
  readonly examples: readonly string[];
}

/** Columns of help where nobody tells. */
const COLUMNS = 80;

/** Adds to the help of a command what a page of a manual has: description, exit codes, examples. */
export function withManual(command: Command, { about = [], exits = [], examples }: Manual): Command {
  const columns = Math.min(COLUMNS, command.configureOutput().getOutHelpWidth?.() ?? COLUMNS);
  const paragraphs = about.map((text) => wrapText(text, columns).join('\n'));
  if (paragraphs.length > 0) {
    command.summary(command.description());
    command.description([command.description(), ...paragraphs].join('\n\n'));
  }
  const codes = exits.map((line) => hanging(line, columns));
  return command.addHelpText(
    'after',
    [
      '',
      ...(codes.length === 0 ? [] : ['Exit codes beside 0:', ...codes, '']),
      'Example:',
      ...examples.map((line) => `  ${line}`),
    ].join('\n'),
  );
}

/** `1  why`, gone on under its own text. */
function hanging(line: string, columns: number): string {
  return wrapText(line, columns - 5)
    .map((part, index) => (index === 0 ? `  ${part}` : `     ${part}`))
    .join('\n');
}

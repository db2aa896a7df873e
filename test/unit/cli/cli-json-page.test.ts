import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../../../packages/cli/src/program.ts';
import { CLI_SCHEMAS } from '../../support/cli-schemas.ts';
import { schemaPaths } from '../../support/schema-paths.ts';

const PAGE = readFileSync(new URL('../../../docs/cli-json.md', import.meta.url), 'utf8');

/** Sections by the name of their command, which stands in a heading of the second level. */
const SECTIONS: ReadonlyMap<string, string> = new Map(
  PAGE.split(/^## /m)
    .slice(1)
    .map((text): [string, string] => {
      const [title = '', ...body] = text.split('\n');
      return [title, body.join('\n').split(/^# /m)[0] ?? ''];
    })
    .filter(([title]) => title !== 'Exit codes'),
);

/** Fields in the first column of a section's table, and those of the sections that it refers to. */
function documentedFields(name: string): readonly string[] {
  const section = SECTIONS.get(name) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  const own = rows.flatMap((line) => codesIn(line.slice(0, line.indexOf(' | '))));
  const referred = codesIn(/Fields: as (.*)\./.exec(section)?.[1] ?? '');
  return [...new Set([...own, ...referred.flatMap(documentedFields)])];
}

function codesIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
}

type Command = ReturnType<typeof createProgram>;

/** Full names of the commands that do something, as `event append`. */
function commandNames(command: Command, prefix = ''): readonly string[] {
  return command.commands.flatMap((sub) => {
    const name = `${prefix}${sub.name()}`;
    return sub.commands.length === 0 ? [name] : commandNames(sub, `${name} `);
  });
}

/** The command line, with what it would run counted instead of run. */
function programCounting(runs: unknown[]): Command {
  return createProgram({
    version: '0',
    run: async (_load, options) => {
      runs.push(options);
    },
    writeOut: () => undefined,
    writeErr: () => undefined,
    columns: 80,
  });
}

function allCommands(): readonly string[] {
  return commandNames(programCounting([]));
}

/** The arguments of the example lines in the help of a command. */
function examplesOf(name: string): readonly (readonly string[])[] {
  let command: Command | undefined = programCounting([]);
  for (const word of name.split(' ')) command = command?.commands.find((sub) => sub.name() === word);
  let help = '';
  command?.configureOutput({
    writeOut: (text) => {
      help += text;
    },
  });
  command?.outputHelp();
  const lines = help.split('Example:\n')[1]?.trim().split('\n') ?? [];
  return lines.map((line) =>
    line
      .replace(/^.*\| custody/, 'custody')
      .replace(/ > .*$/, '')
      .trim()
      .split(/\s+/),
  );
}

describe('docs/cli-json.md', () => {
  test('documents every command, and no other', () => {
    expect(new Set(SECTIONS.keys())).toEqual(new Set(allCommands()));
  });

  test('has a shape for every command, and no other', () => {
    expect(new Set(Object.keys(CLI_SCHEMAS))).toEqual(new Set(allCommands()));
  });

  test.for(Object.entries(CLI_SCHEMAS))('documents every field of %s, and no other', ([name, schema]) => {
    expect(new Set(documentedFields(name))).toEqual(new Set(schemaPaths(schema)));
  });
});

test.for(allCommands())('the help of %s has an example that parses', async (name) => {
  const examples = examplesOf(name);

  expect(examples.length).toBeGreaterThan(0);
  for (const [program, ...args] of examples) {
    const runs: unknown[] = [];
    await programCounting(runs).parseAsync(args, { from: 'user' });
    expect({ program, runs: runs.length, named: args.join(' ').includes(name) || name === 'append' }).toEqual(
      { program: 'custody', runs: 1, named: true },
    );
  }
});

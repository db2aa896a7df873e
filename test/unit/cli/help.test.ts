import { describe, expect, test } from 'vitest';
import { createProgram } from '../../../packages/cli/src/program.ts';

const COLUMNS = 80;

function program(): Command {
  return createProgram({
    version: '0',
    run: async () => undefined,
    writeOut: () => undefined,
    writeErr: () => undefined,
    columns: COLUMNS,
  });
}

type Command = ReturnType<typeof createProgram>;

type Found = readonly [name: string, command: Command];

/** Commands that do something, by their full names. */
function commandsOf(parent: Command, prefix = ''): readonly Found[] {
  return parent.commands.flatMap((sub): readonly Found[] => {
    const name = `${prefix}${sub.name()}`;
    return sub.commands.length === 0 ? [[name, sub]] : commandsOf(sub, `${name} `);
  });
}

/** The page as a person gets it. */
function pageOf(command: Command): string {
  let page = '';
  command.configureOutput({
    writeOut: (text) => {
      page += text;
    },
  });
  command.outputHelp();
  return page;
}

/** Exit codes that mean more here than "done" and "wrong usage". */
const SPECIAL: Readonly<Record<string, RegExp>> = {
  audit: /^ {2}1 {2}with --check/m,
  backfill: /^ {2}1 {2}with --plan/m,
  sweep: /^ {2}1 {2}with --plan/m,
  clear: /^ {2}1 {2}with --plan/m,
  explain: /^ {2}1 {2}there is no row/m,
  'inspect task': /^ {2}1 {2}there is no such task/m,
  'inspect run': /^ {2}1 {2}there is no such run/m,
  verify: /^ {2}1 {2}something was lost/m,
  backup: /^ {2}1 {2}the file is there/m,
  'event append': /^ {2}2 {2}a line is no event/m,
  'event import': /^ {2}2 {2}a line of an export/m,
};

describe.each(commandsOf(program()))('the help of %s', (name, command) => {
  test('says what it does, what each argument and option is for, and gives an example', () => {
    const page = pageOf(command);

    expect(page).toMatch(/^Usage: custody /);
    expect(command.description().length).toBeGreaterThan(10);
    for (const part of [...command.registeredArguments, ...command.options])
      expect({ name, part: part.name(), says: part.description }).toMatchObject({
        says: expect.stringMatching(/\S{2}/) as unknown,
      });
    expect(page).toContain('\nExample:\n  ');
  });

  test('tells the unit of each span', () => {
    const spans = command.options.filter((option) => /<span>|\[span\]/.test(option.flags));
    for (const { description, defaultValueDescription } of spans)
      expect(`${description} ${defaultValueDescription ?? ''}`).toMatch(/\d(?:ms|s|m|h)\b/);
  });

  test('fits 80 columns but for examples, which can be copied as they are', () => {
    const [text = ''] = pageOf(command).split('\nExample:\n');
    expect(text.split('\n').filter((line) => line.length > COLUMNS)).toEqual([]);
  });
});

test('every command stands in the help of the whole with one line about it', () => {
  const page = pageOf(program());

  for (const sub of program().commands.filter((command) => command.name() !== 'help'))
    expect(page).toMatch(new RegExp(`^  ${sub.name()}\\b.* {2}\\S`, 'm'));
  expect(page.split('\n').filter((line) => line.length > COLUMNS)).toEqual([]);
});

test.for(Object.entries(SPECIAL))('the help of %s tells its exit codes', ([name, code]) => {
  const found = commandsOf(program()).find(([full]) => full === name);

  expect(found === undefined ? '' : pageOf(found[1])).toMatch(code);
});

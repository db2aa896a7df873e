import { describe, expect, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { cliBench } from '../support/cli.ts';
import { CLI_SCHEMAS } from '../support/cli-schemas.ts';
import { EVENTS, filledStore } from '../support/cli-store.ts';
import { newSchema, plainSession } from '../support/postgres.ts';

/** A database with a ledger that owes something and two that don't. */
async function threeLedgers(): Promise<{ readonly bench: CliBench; readonly url: string }> {
  const bench = cliBench();
  const url = await newSchema();
  const of = (ledger: string) => ['-s', `${url}&ledger=${ledger}`];
  const filled = [
    await bench.run([...of('b-owes'), 'event', 'append'], { stdin: EVENTS }),
    await bench.run([...of('c-clean'), 'init']),
    await bench.run([...of('A.clean'), 'init']),
  ];
  expect(filled.map(({ code }) => code)).toEqual([0, 0, 0]);
  return { bench, url };
}

describe('audit --all-ledgers', () => {
  test('tells of every ledger of a database, in the order of their names, each with commands for itself', async () => {
    const { bench, url } = await threeLedgers();

    const { code, stdout } = await bench.run(['-s', url, 'audit', '--all-ledgers']);

    expect(code).toBe(0);
    expect(stdout.match(/^ledger .*$/gm)).toEqual(['ledger A.clean', 'ledger b-owes', 'ledger c-clean']);
    const ofOwing = stdout.slice(stdout.indexOf('ledger b-owes'), stdout.indexOf('ledger c-clean'));
    expect(ofOwing).toContain('run-2');
    const commands = ofOwing.match(/custody -s .*/g) ?? [];
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) expect(command).toContain('ledger=b-owes');
    expect(stdout).not.toContain(new URL(url).password);
  });

  test('prints a document a line, which is that of the ledger alone with its name before it', async () => {
    const { bench, url } = await threeLedgers();

    const lines = await bench.lines(['-s', url, 'audit', '--all-ledgers']);
    const all = lines.map((line) => CLI_SCHEMAS.audit.parse(line));

    const alone = await bench.json(['-s', `${url}&ledger=b-owes`, 'audit']);
    const names = all.map((view) => view.ledger);
    expect(names).toEqual(['A.clean', 'b-owes', 'c-clean']);
    const steady = (view: unknown) => JSON.parse(JSON.stringify(view, withoutMoments)) as object;
    expect(Object.keys(lines[1] as object)).toEqual(['ledger', ...Object.keys(alone.value as object)]);
    expect(steady(lines[1])).toEqual({ ledger: 'b-owes', ...steady(alone.value) });
  });

  test('with --check is a finding if one of them has one', async () => {
    const { bench, url } = await threeLedgers();

    expect((await bench.run(['-s', url, 'audit', '--all-ledgers', '--check'])).code).toBe(1);

    const clean = await newSchema();
    await bench.run(['-s', clean, 'init']);
    expect((await bench.run(['-s', clean, 'audit', '--all-ledgers', '--check'])).code).toBe(0);
  });

  test('tells of the others when one can not be read, names it, and ends with its error', async () => {
    const { bench, url } = await threeLedgers();
    const sql = await plainSession();
    const schema = new URL(url).searchParams.get('schema') ?? '';
    const { rows } = await sql.query<{ name: string }>(
      `select c.relname as name from pg_class c where c.relnamespace = to_regnamespace($1)
        and c.relname like 'run\\_\\_b%' and c.relkind = 'r'`,
      [schema],
    );
    await sql.query(`drop table ${schema}."${rows[0]?.name}" cascade`);

    const told = await bench.run(['-s', url, 'audit', '--all-ledgers']);

    expect(told.code).toBe(3);
    expect(told.stdout.match(/^ledger .*$/gm)).toEqual(['ledger A.clean', 'ledger c-clean']);
    expect(told.stderr).toContain("the ledger b-owes can't be audited");
    expect(told.stderr).toContain('a table of the ledger is gone');
  });

  test('says that there is no database, and makes none', async () => {
    const bench = cliBench();
    const url = await newSchema();

    for (let time = 0; time < 2; time += 1)
      expect(await bench.json(['-s', url, 'audit', '--all-ledgers'])).toMatchObject({
        code: 3,
        value: { error: { code: 'store_missing' } },
      });
  });

  test('tells of the one ledger of any other store', async () => {
    const bench = await filledStore();

    const [view, ...others] = await bench.lines(['audit', '--all-ledgers']);

    expect(others).toEqual([]);
    expect(view).toMatchObject({ ledger: 'main', owed: { length: 3 } });
  });

  test.each([
    ['--watch', ['--watch']],
    ['a seq', ['--as-of', '3']],
    ['ids of tasks', ['t-1']],
  ])('excludes %s', async (_what, more) => {
    const bench = await filledStore();

    expect(await bench.json(['audit', '--all-ledgers', ...more])).toMatchObject({
      code: 2,
      value: { error: { code: 'usage', option: '--all-ledgers' } },
    });
  });
});

/** Leaves out the moment of the answer and how long things are owed, which go on, and the commands, which name the ledger. */
function withoutMoments(key: string, value: unknown): unknown {
  return ['at', 'age_ms', 'command'].includes(key) ? null : value;
}

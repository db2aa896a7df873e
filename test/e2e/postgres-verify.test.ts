import { openLedger } from '@custody/ledger';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cliBench } from '../support/cli.ts';
import { newSchema, plainSession } from '../support/postgres.ts';
import { makeRole, readingGrants } from '../support/postgres-role.ts';
import { placeOfLedger } from '../support/tamper-postgres.ts';
import { fillTables } from '../support/tampered-tables.ts';

/** A full ledger, and its URL for a role that may do nothing but select. */
async function readOnlyLedger() {
  const url = `${await newSchema()}&ledger=main`;
  const { schema } = placeOfLedger(url);
  const ledger = await openLedger(url);
  await fillTables(ledger);
  const head = await ledger.head();
  await ledger.close();
  const role = await makeRole();
  onTestFinished(role.drop);
  const session = await plainSession();
  await session.query(readingGrants(schema, role.name));
  const attack = (statements: string) =>
    session.query(`begin; set local search_path = ${schema}; ${statements}; commit`);
  return { url: role.as(url), schema, attack, head: `${head.seq}:${head.hash}` };
}

/** Where every row of a schema stands, and which transaction wrote it. */
async function placesIn(schema: string): Promise<unknown> {
  const session = await plainSession();
  const { rows: tables } = await session.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = to_regnamespace($1) and relkind = 'r'`,
    [schema],
  );
  const places: Record<string, unknown> = {};
  for (const { name } of tables)
    places[name] = (
      await session.query(
        `select ctid::text, xmin::text, xmax::text, md5(t::text) from ${schema}.${name} t order by ctid`,
      )
    ).rows;
  return places;
}

describe('custody verify on PostgreSQL', () => {
  test('V10: proves a ledger as a role that may only select, and changes nothing', async () => {
    const { url, schema, head } = await readOnlyLedger();
    const bench = cliBench();
    const before = await placesIn(schema);

    const { code, value } = await bench.json([...['-s', url, 'verify', '--rebuild', '--expect-head', head]]);

    expect({ code, value }).toMatchObject({ code: 0, value: { ok: true, problems: [] } });
    expect(await placesIn(schema)).toEqual(before);
    const refused = await bench.run(['-s', url, 'event', 'append'], {
      stdin: '{"type":"run.started","run_id":"run-9","task_id":"t-9"}\n',
    });
    expect(refused.code).not.toBe(0);
    expect(await placesIn(schema)).toEqual(before);
  });

  test.each([
    ['a detached partition', 'alter table event detach partition event__main', 1, 'partition_mismatch'],
    [
      'an event that was removed',
      'set local session_replication_role = replica; delete from event__main where seq = 3',
      1,
      'seq_gap',
    ],
    ['a log that is gone', 'drop table event__main', 3, 'store_corrupt'],
    ['a head that is gone', `delete from ledger_head where ledger = 'main'`, 3, 'store_corrupt'],
    ['a column that is gone', 'alter table served_record drop column sha256', 3, 'store_corrupt'],
  ])(
    'V10: tells of %s without a stack, as a document and for people',
    async (_what, statements, exit, word) => {
      const { url, attack } = await readOnlyLedger();
      await attack(statements);
      const bench = cliBench();

      for (const json of [['--json'], []]) {
        const { code, stdout, stderr } = await bench.run([...json, '-s', url, 'verify', '--rebuild']);
        const told = `${stdout}${stderr}`;
        expect({ code, told }).toMatchObject({ code: exit });
        if (json.length > 0 || exit === 1) expect(told).toContain(word);
        expect(told).not.toMatch(/^ {4}at |internal|unexpected/m);
        expect(told).not.toContain(new URL(url).password);
      }
    },
  );
});

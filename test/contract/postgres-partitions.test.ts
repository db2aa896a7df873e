import { openLedger } from '@custody/ledger';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { newSchema, plainSession } from '../support/postgres.ts';
import type { TestRole } from '../support/postgres-role.ts';
import { makeRole, readingGrants } from '../support/postgres-role.ts';
import { placeOfLedger } from '../support/tamper-postgres.ts';
import { fillTables } from '../support/tampered-tables.ts';

let role: TestRole;

beforeAll(async () => {
  role = await makeRole();
});

afterAll(async () => {
  await role.drop();
});

/** A full ledger in a schema of its own, which a test may take apart. */
async function fullLedger(): Promise<{ readonly url: string; readonly schema: string }> {
  const url = `${await newSchema()}&ledger=main`;
  const { schema } = placeOfLedger(url);
  const ledger = await openLedger(url);
  await fillTables(ledger);
  await ledger.close();
  await (await openLedger(url.replace('ledger=main', 'ledger=other'))).close();
  return { url, schema };
}

async function attack(schema: string, statements: string): Promise<void> {
  const session = await plainSession();
  await session.query(`begin; set local search_path = ${schema}; ${statements}; commit`);
}

/** What a role that may only look finds. */
async function findings(url: string, schema: string) {
  await (await plainSession()).query(readingGrants(schema, role.name));
  onTestFinished(async () => void (await (await plainSession()).query(`drop owned by ${role.name}`)));
  await using looking = await openLedger(role.as(url), { readOnly: true });
  return await looking.verify({ rebuild: true });
}

/** Lets a partition hold what its table would not take: the check is said to hold, and so nobody looks. */
const PAST_THE_BOUND = (table: string, change: string) => `
  alter table ${table} detach partition ${table}__main;
  alter table ${table}__main disable trigger user;
  ${change};
  alter table ${table}__main enable trigger user;
  alter table ${table}__main add constraint lie check (ledger is not null and ledger = 'main') not valid;
  update pg_constraint set convalidated = true where conname = 'lie' and conrelid = '${table}__main'::regclass;
  alter table ${table} attach partition ${table}__main for values in ('main')`;

describe('verify on PostgreSQL', () => {
  it.each<[string, string, readonly object[]]>([
    [
      'a partition of the log that was detached',
      'alter table event detach partition event__main',
      [
        {
          code: 'partition_mismatch',
          message: 'the partition event__main is no part of the table event any more',
        },
        { code: 'guard_mismatch', message: 'the trigger event__main.event_is_append_only is missing' },
      ],
    ],
    [
      'a partition of a table that only the reconciler reads',
      'alter table leader detach partition leader__main',
      [
        {
          code: 'partition_mismatch',
          message: 'the partition leader__main is no part of the table leader any more',
        },
      ],
    ],
    [
      'a partition that is gone, of a table that nothing is compared with',
      'drop table leader__main',
      [{ code: 'partition_mismatch', message: 'the partition leader__main is gone' }],
    ],
    [
      'a partition that was attached for another ledger',
      `alter table leader detach partition leader__main;
       alter table leader attach partition leader__main for values in ('third')`,
      [{ code: 'partition_mismatch', message: 'the partition leader__main is for another ledger' }],
    ],
    [
      'an event in the partition of another ledger',
      PAST_THE_BOUND('event', `update event__main set ledger = 'other' where seq = 2`),
      [
        {
          code: 'partition_mismatch',
          message: 'the partition event__main holds rows that are not of the ledger main',
        },
        { code: 'seq_gap', seq: 3 },
      ],
    ],
    [
      'a row in the partition of another ledger, which nobody would read',
      PAST_THE_BOUND('task_row', `update task_row__main set ledger = 'other' where task_id = 't-1'`),
      [
        {
          code: 'partition_mismatch',
          message: 'the partition task_row__main holds rows that are not of the ledger main',
        },
      ],
    ],
    [
      'an event that was moved to the ledger beside it',
      `set local session_replication_role = replica;
       with moved as (delete from event__main where seq = 2 returning *)
         insert into event__other select 'other', 1, id, type, task_id, run_id, hash, text from moved`,
      [{ code: 'seq_gap', seq: 3 }],
    ],
    [
      'a guard of the log that is switched off',
      'alter table event__main disable trigger event_is_append_only',
      [
        {
          code: 'guard_mismatch',
          message: 'the trigger event__main.event_is_append_only is switched off',
        },
      ],
    ],
    [
      'a guard that is switched off for the whole table',
      'alter table only event disable trigger event_continues_the_log',
      [{ code: 'guard_mismatch', message: 'the trigger event.event_continues_the_log is switched off' }],
    ],
    [
      'a guard that was taken out',
      'drop trigger lease_fence_only_grows on lease',
      [
        { code: 'guard_mismatch', message: 'the trigger lease.lease_fence_only_grows is missing' },
        { code: 'guard_mismatch', message: 'the trigger lease__main.lease_fence_only_grows is missing' },
      ],
    ],
    [
      'a guard with another condition',
      `drop trigger task_row_is_never_deleted on task_row;
       create trigger task_row_is_never_deleted before delete on task_row for each row
         when (old.status = 'x') execute function custody_refuse('task rows are never deleted')`,
      [
        { code: 'guard_mismatch', message: 'the trigger task_row.task_row_is_never_deleted was changed' },
        {
          code: 'guard_mismatch',
          message: 'the trigger task_row__main.task_row_is_never_deleted was changed',
        },
      ],
    ],
    [
      'a guard whose function says nothing any more',
      `create or replace function custody_refuse() returns trigger language plpgsql as 'begin return old; end'`,
      [{ code: 'guard_mismatch', message: 'the function custody_refuse was changed' }],
    ],
    [
      'a guard that runs a function of the same name elsewhere',
      `create function pg_temp.custody_refuse() returns trigger language plpgsql as 'begin return old; end';
       drop trigger lease_is_never_deleted on lease;
       create trigger lease_is_never_deleted before delete on lease for each row
         execute function pg_temp.custody_refuse('a lease keeps the fence and is never deleted')`,
      [
        { code: 'guard_mismatch', message: 'the trigger lease.lease_is_never_deleted was changed' },
        { code: 'guard_mismatch', message: 'the trigger lease__main.lease_is_never_deleted was changed' },
      ],
    ],
    [
      "a trigger that is none of the ledger's",
      `create function mine() returns trigger language plpgsql as 'begin return new; end';
       create trigger mine before insert on run__main for each row execute function mine()`,
      [{ code: 'guard_mismatch', message: "the trigger run__main.mine is none of the ledger's" }],
    ],
    [
      'a rule that swallows what is written',
      'create rule silent as on insert to run__main do instead nothing',
      [
        {
          code: 'partition_mismatch',
          message: "the partition run__main has rules that are none of the ledger's",
        },
      ],
    ],
    [
      'a text that is none any more',
      `alter table event alter column text drop not null;
       alter table event__main disable trigger user;
       update event__main set text = null where seq = 2;
       alter table event__main enable trigger user`,
      [
        { code: 'hash_mismatch', seq: 2 },
        { code: 'not_json', seq: 2 },
      ],
    ],
    [
      'a row that is none any more',
      `alter table task_row alter column live drop not null;
       alter table task_row__main disable trigger user;
       update task_row__main set live = null where task_id = 't-1';
       alter table task_row__main enable trigger user`,
      [{ code: 'row_mismatch', task_id: 't-1' }],
    ],
    [
      'a place of an event that no number tells from its neighbours',
      `alter table event__main disable trigger user;
       update event__main set seq = 9223372036854775807 where seq = 2;
       alter table event__main enable trigger user`,
      [{ code: 'seq_gap', seq: 3 }],
    ],
  ])('V10: names %s', async (_what, statements, expected) => {
    const { url, schema } = await fullLedger();
    expect(await findings(url, schema)).toMatchObject({ ok: true, problems: [] });
    await attack(schema, statements);

    const report = await findings(url, schema);

    expect(report.ok).toBe(false);
    expect(report.problems.slice(0, expected.length)).toMatchObject(expected);
  });

  it.each<[string, string, string]>([
    ['the log is gone', 'drop table event__main', 'a table of the ledger is gone'],
    [
      'the head is gone',
      `delete from ledger_head where ledger = 'main'`,
      'the ledger main has a log and no head',
    ],
    ['all heads are gone', 'drop table ledger_head', 'a table of the ledger is gone'],
    ['a column is gone', 'alter table served_record drop column sha256', 'a column of the ledger is gone'],
    [
      'a record has another type',
      'alter table run alter column record type int using 1',
      'a column of the ledger has another type',
    ],
    [
      'a key has another type',
      'alter table served_record alter column record_id type int using 1',
      'a column of the ledger has another type',
    ],
  ])('V10: tells that the store is corrupt where %s', async (_what, statements, message) => {
    const { url, schema } = await fullLedger();
    await attack(schema, statements);

    await expect(findings(url, schema)).rejects.toMatchObject({
      code: 'store_corrupt',
      message: expect.stringContaining(message) as string,
    });
    // Nor is a new ledger made over what is left.
    await expect(openLedger(url).then((ledger) => ledger.verify())).rejects.toMatchObject({
      code: 'store_corrupt',
    });
  });
});

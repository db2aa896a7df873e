import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, it, onTestFinished } from 'vitest';
import { settled, started } from '../support/events.ts';
import { newSchema, plainSession, postgresUrl } from '../support/postgres.ts';
import type { TestRole } from '../support/postgres-role.ts';
import { makeRole, readingGrants } from '../support/postgres-role.ts';
import { rowOf } from '../support/row.ts';

/** The grants that docs/operations.md gives to a role that writes. */
const WRITING = (schema: string, role: string) => `${readingGrants(schema, role)};
  grant insert, update on all tables in schema ${schema} to ${role};
  revoke insert, update on ${schema}.custody_schema from ${role}`;

/** A role that ends with the test. */
async function newRole(): Promise<TestRole> {
  const role = await makeRole();
  onTestFinished(role.drop);
  return role;
}

function schemaOf(url: string): string {
  return String(new URL(url).searchParams.get('schema'));
}

describe('opening a PostgreSQL ledger', () => {
  it('makes schema and ledger once, and says so', async () => {
    const url = await newSchema();

    await using first = await openLedger(url);
    await using second = await openLedger(url);
    await using another = await openLedger(`${url}&ledger=b`);

    expect([first.created, second.created, another.created]).toEqual([true, false, true]);
  });

  it('for reading only, or without making one, makes nothing', async () => {
    const url = await newSchema();

    await expect(openLedger(url, { readOnly: true })).rejects.toMatchObject({ code: 'store_missing' });
    await expect(openLedger(url, { create: false })).rejects.toMatchObject({ code: 'store_missing' });

    const sql = await plainSession();
    const { rows } = await sql.query('select to_regnamespace($1) as found', [schemaOf(url)]);
    expect(rows).toEqual([{ found: null }]);
  });

  it('of a newer schema is refused, and changes nothing', async () => {
    const url = await newSchema();
    await (await openLedger(url)).close();
    const sql = await plainSession();
    await sql.query(`update ${schemaOf(url)}.custody_schema set version = 99`);

    await expect(openLedger(url)).rejects.toMatchObject({
      code: 'schema_newer',
      facts: { schema_version: 99 },
    });
    await expect(openLedger(`${url}&ledger=new`)).rejects.toMatchObject({ code: 'schema_newer' });
  });

  it("in a schema with another program's tables is refused", async () => {
    const url = await newSchema();
    const sql = await plainSession();
    await sql.query(`create schema ${schemaOf(url)}; create table ${schemaOf(url)}.event (id int)`);

    await expect(openLedger(url)).rejects.toMatchObject({ code: 'not_a_store' });

    const { rows } = await sql.query(
      'select relname from pg_class where relnamespace = to_regnamespace($1)',
      [schemaOf(url)],
    );
    expect(rows).toEqual([{ relname: 'event' }]);
  });

  it('tells what is wrong with the way there, without the password', async () => {
    const place = new URL(postgresUrl());
    const wrong = (change: (url: URL) => void) => {
      const url = new URL(place.href);
      change(url);
      return url.href;
    };
    const cases = [
      [wrong((url) => (url.password = 'not-this')), 'store_unreadable'],
      [wrong((url) => (url.pathname = '/nowhere')), 'store_missing'],
      [wrong((url) => (url.port = '1')), 'busy'],
      [wrong((url) => (url.hostname = 'no-such-host.invalid')), 'store_unreadable'],
    ] as const;
    for (const [url, code] of cases) {
      const error: unknown = await openLedger(url).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code });
      const { message, hint, facts } = error as { message: string; hint: string; facts: object };
      expect(JSON.stringify([message, hint, facts])).not.toContain(new URL(url).password);
    }
    await using ledger = await openLedger(await newSchema());
    expect(ledger.url).not.toContain(place.password);
    expect(ledger.url).toContain('?schema=custody_test_');
  });
});

describe('a role of its own', () => {
  it('that may only look can audit, verify, explain and dry-run, and can write nothing', async () => {
    const url = await newSchema();
    await using ledger = await openLedger(url);
    await ledger.append([started('run-1', 't-1'), settled('run-1')]);
    await ledger.rows.put([rowOf('t-1', { status: 'failed', delegated_runs_unreconciled: ['run-1'] })]);
    const role = await newRole();
    await (await plainSession()).query(readingGrants(schemaOf(url), role.name));

    await using looker = await openLedger(role.as(url), { readOnly: true });
    expect(await looker.verify({ rebuild: true })).toMatchObject({ ok: true, events: 2 });
    expect(await createReconciler(looker).backfill({ dryRun: true })).toMatchObject({
      examined: 1,
      failed: [],
    });
    expect((await looker.custody.tasks(['t-1'])).get('t-1')?.runs).toHaveLength(1);
    await expect(looker.append([started('run-2', 't-2')])).rejects.toMatchObject({
      code: 'store_unreadable',
    });
    // Not even one that says it would write.
    await using writer = await openLedger(role.as(url));
    await expect(writer.append([started('run-2', 't-2')])).rejects.toMatchObject({
      code: 'store_unreadable',
    });
    await expect(openLedger(`${role.as(url)}&ledger=new`)).rejects.toMatchObject({
      code: 'store_unreadable',
    });
  });

  it('that writes needs no right to change the tables, and can take no event back', async () => {
    const url = await newSchema();
    await (await openLedger(url)).close();
    const role = await newRole();
    await (await plainSession()).query(WRITING(schemaOf(url), role.name));

    await using writer = await openLedger(role.as(url));
    await writer.append([started('run-1', 't-1'), settled('run-1')]);
    await writer.rows.put([rowOf('t-1', { status: 'failed', delegated_runs_unreconciled: ['run-1'] })]);
    expect(await createReconciler(writer).backfill()).toMatchObject({ refreshed: ['t-1'] });
    await writer.tasks.create({ taskId: 'm-1', title: 'work' });
    expect(await writer.runs.claim({ holder: 'worker' })).toMatchObject({ outcome: 'claimed' });
    await writer.raiseEpoch('test');
    expect(await writer.verify({ rebuild: true })).toMatchObject({ ok: true });
  });
});

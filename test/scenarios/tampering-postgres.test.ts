import { openLedger } from '@custody/ledger';
import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { anyHistory } from '../support/event-arbitrary.ts';
import { clearLedger, makeSchema, plainSession } from '../support/postgres.ts';
import type { TestRole } from '../support/postgres-role.ts';
import { makeRole, readingGrants } from '../support/postgres-role.ts';
import { anyRowEdit, editRow, noRowEdits } from '../support/row-edits.ts';
import { signingKeys } from '../support/signing-keys.ts';
import { placeOfLedger, withoutPostgresGuards } from '../support/tamper-postgres.ts';
import { EDITS, fillLog, fillTables } from '../support/tampered-tables.ts';
import { anyTampering, noTamperings, tamper, tellTamperings } from '../support/tampering.ts';

const RUNS = process.env['CUSTODY_TEST_LONG'] === undefined ? 100 : 1000;
/** Thousands of histories on a busy machine. */
const LONG_TEST_MS = 1_800_000;
const KEYS = signingKeys();

const schema = makeSchema();
const url = `${schema.url}&ledger=main`;
const { placeOf } = placeOfLedger(url);
let session: pg.Client;
/** Whoever looks has the right to read and no other: looking can't change anything. */
let role: TestRole;
/** Tables of the ledger, the head among them. */
let tables: readonly string[] = [];

beforeAll(async () => {
  session = await plainSession();
  role = await makeRole();
  await (await openLedger(url)).close();
  await session.query(readingGrants(schema.name, role.name));
  const { rows } = await session.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = to_regnamespace($1) and relkind = 'r'
       and (relname like '%\\_\\_main' or relname = 'ledger_head') order by relname`,
    [schema.name],
  );
  tables = rows.map(({ name }) => name);
});

afterEach(async () => {
  await clearLedger(session, { schema: schema.name, ledger: 'main' });
});

afterAll(async () => {
  await schema.drop();
  await role.drop();
});

/** Every row of every table, with its place on the disk and the transaction that wrote it. */
async function rowsOf(): Promise<unknown> {
  const found: Record<string, unknown> = {};
  for (const table of tables)
    found[table] = (
      await session.query(
        `select ctid::text, xmin::text, xmax::text, md5(t::text) from ${schema.name}.${table} t order by ctid`,
      )
    ).rows;
  return found;
}

async function looked(options: Parameters<Awaited<ReturnType<typeof openLedger>>['verify']>[0]) {
  await using looking = await openLedger(role.as(url), { readOnly: true });
  return await looking.verify(options);
}

describe('tampering with a PostgreSQL ledger', () => {
  test(
    'P2: any flipped byte, any column, and any removed, inserted, swapped, cut or rewritten event is named with its place, by a role that can only look',
    async () => {
      const found = noTamperings();
      await fc.assert(
        fc.asyncProperty(anyHistory, anyTampering, async (history, choose) => {
          await clearLedger(session, { schema: schema.name, ledger: 'main' });
          const ledger = await openLedger(url);
          await fillLog(ledger, history);
          const checkpoint = await ledger.takeCheckpoint({ privateKey: KEYS.privateKey });
          const { seq, hash } = await ledger.head();
          await ledger.close();
          const tampering = choose(seq);

          const expected = await withoutPostgresGuards(url, (store) => tamper(store, tampering));

          const before = await rowsOf();
          const report = await looked({ expectHead: { seq, hash } });
          const signed = await looked({ proof: { checkpoint, publicKey: KEYS.publicKey } });
          expect({ tampering, ok: report.ok, seq: report.problems[0]?.seq }).toEqual({
            tampering,
            ok: false,
            // A log that was made anew from one event on is right in itself; what was noted of it is not.
            seq: tampering.kind === 'rewrite' ? seq : expected,
          });
          expect(signed.ok).toBe(false);
          expect(await rowsOf()).toEqual(before);
          found[tampering.kind] += 1;
        }),
        { numRuns: RUNS },
      );
      tellTamperings('postgres', found);
      // Each kind was tried.
      expect(Object.values(found).every((count) => count > 0)).toBe(true);
    },
    LONG_TEST_MS,
  );

  test('P2: without a head from elsewhere, a cut log is whole in itself: that is what the head is for', async () => {
    const ledger = await openLedger(url);
    await fillLog(ledger, []);
    const { seq, hash } = await ledger.head();
    await ledger.close();
    await withoutPostgresGuards(url, (store) => tamper(store, { kind: 'truncate', at: 3 }));

    expect(await looked({})).toMatchObject({ ok: true, events: 2 });
    expect(await looked({ expectHead: { seq, hash } })).toMatchObject({
      problems: [{ code: 'truncated', seq: 2 }],
    });
  });

  async function fillRich(): Promise<void> {
    await using ledger = await openLedger(url);
    await fillTables(ledger);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  }

  test.each(EDITS)('V10: $what that was edited is found by --rebuild', async ({ statement, expected }) => {
    await fillRich();
    const changed = await withoutPostgresGuards(
      url,
      async (store) => (await session.query(statement(store.placeOf, store.ledger))).rowCount,
    );
    expect(changed).toBeGreaterThan(0);

    const report = await looked({ rebuild: true });

    expect(report.ok).toBe(false);
    expect(report.problems[0]).toMatchObject(expected);
  });

  test(
    'V10: any row that was edited, of any table that follows from the log, is named by --rebuild',
    async () => {
      await fillRich();
      const keep = async (from: (table: string) => string, to: (table: string) => string) =>
        withoutPostgresGuards(url, async ({ run }) => {
          for (const table of tables)
            await run(`delete from ${to(table)}; insert into ${to(table)} table ${from(table)}`);
        });
      const kept = (table: string) => `kept_${table}`;
      const real = (table: string) => `${schema.name}.${table}`;
      for (const table of tables)
        await session.query(`create temporary table ${kept(table)} (like ${real(table)})`);
      await keep(real, kept);
      const found = noRowEdits();
      await fc.assert(
        fc.asyncProperty(anyRowEdit, async (edit) => {
          await keep(kept, real);
          const expected = await withoutPostgresGuards(url, (store) => editRow(store, edit));
          const before = await rowsOf();

          const report = await looked({ rebuild: true });

          expect({ edit, problems: report.problems }).toEqual({
            edit,
            problems: expect.arrayContaining([expect.objectContaining(expected)]) as unknown,
          });
          expect(report.problems[0]?.message).toContain(edit.table);
          expect(await rowsOf()).toEqual(before);
          found[edit.table] = (found[edit.table] ?? 0) + 1;
        }),
        { numRuns: 2 * RUNS },
      );
      for (const table of tables) await session.query(`drop table ${kept(table)}`);
      tellTamperings('rows of postgres', found);
      expect(Object.values(found).every((count) => count > 0)).toBe(true);
    },
    LONG_TEST_MS,
  );

  test('P4: a frozen field that an orchestrator wrote and somebody edited is named by the signed list, with its task', async () => {
    await fillRich();
    const lines: string[] = [];
    const ledger = await openLedger(url);
    const checkpoint = await ledger.takeCheckpoint({
      privateKey: KEYS.privateKey,
      writeRow: async (line) => void lines.push(line),
    });
    await ledger.close();
    await withoutPostgresGuards(url, ({ run }) =>
      run(
        `update ${placeOf('task_row')} set frozen = replace(frozen, 'provider', 'Provider') where task_id = 't-1'`,
      ),
    );
    async function* listed(): AsyncGenerator<string, void> {
      yield* lines;
    }

    // The log does not hold what an orchestrator wrote: that is what the list is for.
    expect(await looked({ rebuild: true })).toMatchObject({ ok: true });
    expect(
      await looked({ proof: { checkpoint, publicKey: KEYS.publicKey, frozenRows: listed() } }),
    ).toMatchObject({
      ok: false,
      problems: [
        {
          code: 'frozen_field_changed',
          task_id: 't-1',
          message: expect.stringContaining('reason_code') as string,
        },
      ],
    });
  });
});

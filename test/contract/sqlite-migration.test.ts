import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { compareCodePoints, openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { collect } from '../support/collect.ts';

/** A file that the first schema made: runs, an invocation, a row, a managed task with a question, a submit and a lease. */
const FIRST_SCHEMA = new URL('../fixtures/sqlite-schema-1.db.gz', import.meta.url);

function oldFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'custody-migration-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'custody.db');
  writeFileSync(path, gunzipSync(readFileSync(FIRST_SCHEMA)));
  return path;
}

function schemaOf(path: string): readonly string[] {
  const database = new Database(path, { readonly: true });
  try {
    const rows = database.prepare('select sql from sqlite_master where sql is not null').all() as {
      sql: string;
    }[];
    return rows.map((row) => row.sql.replaceAll(/\s+/g, ' ')).sort(compareCodePoints);
  } finally {
    database.close();
  }
}

function contentOf(path: string): Record<string, readonly unknown[]> {
  const database = new Database(path, { readonly: true });
  try {
    const tables = database
      .prepare(
        "select name from sqlite_master where type = 'table' and name <> 'served_record' order by name",
      )
      .all() as { name: string }[];
    return Object.fromEntries(
      tables.map(({ name }) => [name, database.prepare(`select * from "${name}" order by 1, 2, 3`).all()]),
    );
  } finally {
    database.close();
  }
}

test('a file of the first schema is opened with every row that it had, in the tables of a new file', async () => {
  const path = oldFile();
  const before = contentOf(path);

  const ledger = await openLedger(`sqlite:${path}`);
  await ledger.close();

  expect(contentOf(path)).toEqual(before);
  const fresh = join(path, '..', 'fresh.db');
  await (await openLedger(`sqlite:${fresh}`)).close();
  expect(schemaOf(path)).toEqual(schemaOf(fresh));
});

test('a file of the first schema verifies, takes events and heals after it was opened', async () => {
  const path = oldFile();
  await using ledger = await openLedger(`sqlite:${path}`);

  expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, events: 14, problems: [] });
  await ledger.append([{ type: 'run.started', run_id: 'r-9', task_id: 't-1', role: 'delegate' }]);
  expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: ['t-1'], failed: [] });
  expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, events: 16, problems: [] });
  expect((await collect(ledger.read({ taskId: 'm-1' }))).length).toBeGreaterThan(3);
});

test('a file of the first schema is not changed by one who only reads', async () => {
  const path = oldFile();
  const bytes = readFileSync(path);

  await expect(openLedger(`sqlite:${path}`, { readOnly: true })).rejects.toMatchObject({
    code: 'store_unreadable',
    facts: { schema_version: 1 },
  });
  expect(readFileSync(path).equals(bytes)).toBe(true);
});

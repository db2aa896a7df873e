import { sql } from 'kysely';
import type { VerifyOptions, VerifyProblem, VerifyReport } from '../../ports/ledger-store.ts';
import { verifySql } from '../sql/sql-verify.ts';
import type { Db, SqlContext } from '../sql/tables.ts';
import { withFreshSchema } from './open-sqlite.ts';

/** Faults of the file that are told, at most: what comes after the first says little. */
const MAX_FAULTS = 10;

/** Checks the file itself, the rules that stand in it, and then everything that it says. */
export async function verifySqlite(context: SqlContext, options: VerifyOptions): Promise<VerifyReport> {
  const ofFile = [...(await fileFaults(context.reader)), ...(await guardFaults(context.reader))];
  const report = await verifySql(context, options);
  const problems = [...ofFile, ...report.problems];
  return { ...report, ok: problems.length === 0, problems };
}

/** What SQLite finds when it reads every page: a damaged index gives wrong answers long before anything fails. */
async function fileFaults(db: Db): Promise<readonly VerifyProblem[]> {
  const { rows } = await sql<{ readonly integrity_check: string }>`pragma integrity_check`.execute(db);
  return rows
    .slice(0, MAX_FAULTS)
    .filter(({ integrity_check: text }) => text !== 'ok')
    .map(({ integrity_check: message }) => ({ code: 'file_damaged', message }));
}

/** Triggers and indexes by name. */
type Rules = ReadonlyMap<string, { readonly type: string; readonly sql: string }>;

/**
 * Holds the triggers and indexes against those of a new store. Whoever wants to change an event by SQL has to
 * take a trigger out first, and one that was added could write by itself.
 */
async function guardFaults(db: Db): Promise<readonly VerifyProblem[]> {
  const stored = await readRules(db);
  const expected = await withFreshSchema(readRules);
  const problems: VerifyProblem[] = [];
  for (const [name, rule] of expected) {
    const found = stored.get(name);
    if (found?.sql === rule.sql) continue;
    const what = found === undefined ? 'is missing' : 'was changed';
    problems.push({ code: 'guard_mismatch', message: `the ${rule.type} ${name} ${what}` });
  }
  for (const [name, { type }] of stored)
    if (type === 'trigger' && !expected.has(name))
      problems.push({ code: 'guard_mismatch', message: `the trigger ${name} is none of the ledger's` });
  return problems;
}

async function readRules(db: Db): Promise<Rules> {
  const { rows } = await sql<{ readonly name: string; readonly type: string; readonly sql: string }>`
    select name, type, sql from sqlite_master where type in ('trigger', 'index') and sql is not null`.execute(
    db,
  );
  return new Map(rows.map((row) => [row.name, row]));
}

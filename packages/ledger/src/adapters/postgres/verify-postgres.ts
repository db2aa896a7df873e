import { sql } from 'kysely';
import type { PostgresLocation } from '../../core/postgres-url.ts';
import type { VerifyOptions, VerifyProblem, VerifyReport } from '../../ports/ledger-store.ts';
import { verifySql } from '../sql/sql-verify.ts';
import type { Db, SqlContext } from '../sql/tables.ts';
import { GUARD_FUNCTIONS, GUARDS } from './postgres-guards.ts';
import { PARTITIONED, partitionName } from './postgres-partitions.ts';

/** Checks the ledger's partitions, the rules that stand on them, and then everything that they say. */
export async function verifyPostgres(
  context: SqlContext,
  location: PostgresLocation,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const place: Place = {
    ...location,
    partitionOf: (table) => partitionName(table, location.ledger),
  };
  const ofPlace = await context.reader
    .transaction()
    .execute(async (db) => [...(await partitionFaults(db, place)), ...(await guardFaults(db, place))]);
  const report = await verifySql(context, options);
  const problems = [...ofPlace, ...report.problems];
  return { ...report, ok: problems.length === 0, problems };
}

interface Place {
  readonly schema: string;
  readonly ledger: string;
  readonly partitionOf: (table: string) => string;
}

/** A table as the catalog tells of it. */
interface Relation {
  readonly name: string;
  /** What it is a partition of; null if it is none. */
  readonly parent: string | null;
  /** For which ledger. */
  readonly is_for_ledger: boolean;
  readonly has_rules: boolean;
}

/**
 * A partition that was taken out of its table is still where a handle looks, but what the table refuses it takes. Its
 * rows are those of one ledger: whatever else stands in it is read by nobody.
 */
async function partitionFaults(db: Db, place: Place): Promise<readonly VerifyProblem[]> {
  const { rows } = await sql<Relation>`
    select c.relname as name, p.relname as parent, c.relhasrules or c.relrowsecurity as has_rules,
      coalesce(pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES IN (%L)', ${place.ledger}::text), false)
        as is_for_ledger
    from pg_class c left join pg_inherits i on i.inhrelid = c.oid
      left join pg_class p on p.oid = i.inhparent and p.relnamespace = c.relnamespace
    where c.relnamespace = to_regnamespace(${`"${place.schema}"`})
      and c.relname = any(${PARTITIONED.map(place.partitionOf)})`.execute(db);
  const found = new Map(rows.map((row) => [row.name, row]));
  const problems: VerifyProblem[] = [];
  for (const table of PARTITIONED) {
    const name = place.partitionOf(table);
    const relation = found.get(name);
    const fault = relation === undefined ? 'is gone' : relationFault(relation, table);
    if (fault !== null)
      problems.push({ code: 'partition_mismatch', message: `the partition ${name} ${fault}` });
    // Without the table nothing else could be said.
    if (relation !== undefined && (await hasRowsOfOthers(db, place, table)))
      problems.push({
        code: 'partition_mismatch',
        message: `the partition ${name} holds rows that are not of the ledger ${place.ledger}`,
      });
  }
  return problems;
}

function relationFault({ parent, is_for_ledger, has_rules }: Relation, table: string): string | null {
  if (parent !== table) return `is no part of the table ${table} any more`;
  if (!is_for_ledger) return 'is for another ledger';
  return has_rules ? "has rules that are none of the ledger's" : null;
}

async function hasRowsOfOthers(
  db: Db,
  { ledger }: Place,
  table: (typeof PARTITIONED)[number],
): Promise<boolean> {
  const other = await db
    .selectFrom(table)
    .select('ledger')
    .where(sql<boolean>`ledger is distinct from ${ledger}`)
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}

/** A trigger as the catalog tells of it. */
interface StoredTrigger {
  readonly place: string;
  readonly name: string;
  readonly is_enabled: boolean;
  readonly definition: string;
  readonly is_own_function: boolean;
}

/**
 * Holds the triggers against those of a new ledger. Whoever wants to change an event by SQL has to switch one off
 * first, and one that was added could write by itself.
 */
async function guardFaults(db: Db, place: Place): Promise<readonly VerifyProblem[]> {
  const expected = expectedGuards(place);
  const stored = new Map((await readTriggers(db, place)).map((one) => [`${one.place}.${one.name}`, one]));
  const problems: VerifyProblem[] = [];
  const tell = (message: string) => problems.push({ code: 'guard_mismatch', message });
  for (const [key, definition] of expected) {
    const found = stored.get(key);
    if (found === undefined) tell(`the trigger ${key} is missing`);
    else if (!found.is_enabled) tell(`the trigger ${key} is switched off`);
    else if (!found.is_own_function || plain(found.definition) !== definition)
      tell(`the trigger ${key} was changed`);
  }
  for (const key of stored.keys()) if (!expected.has(key)) tell(`the trigger ${key} is none of the ledger's`);
  for (const name of await changedFunctions(db, place)) tell(`the function ${name} was changed`);
  return problems;
}

/** By place and name: the triggers of the tables, and of their partitions that hold the ledger. */
function expectedGuards({ partitionOf }: Place): ReadonlyMap<string, string> {
  return new Map(
    GUARDS.flatMap(({ table, name, when, rule }) => {
      const definition = plain(`create trigger ${name} ${when} on table ${rule}`);
      return [table, partitionOf(table)].map((where): [string, string] => [`${where}.${name}`, definition]);
    }),
  );
}

async function readTriggers(db: Db, place: Place): Promise<readonly StoredTrigger[]> {
  const tables = [...PARTITIONED, ...PARTITIONED.map(place.partitionOf), 'ledger_head'];
  const { rows } = await sql<StoredTrigger>`
    select c.relname as place, t.tgname as name, t.tgenabled in ('O', 'A') as is_enabled,
      pg_get_triggerdef(t.oid) as definition, f.pronamespace = c.relnamespace as is_own_function
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_proc f on f.oid = t.tgfoid
    where not t.tgisinternal and c.relnamespace = to_regnamespace(${`"${place.schema}"`})
      and c.relname = any(${tables})
    order by c.relname, t.tgname`.execute(db);
  return rows;
}

/** A definition without what depends on names of schemas, on versions, and on how somebody wrote it. */
function plain(definition: string): string {
  return definition
    .toLowerCase()
    .replace(/ on \S+ /, ' on table ')
    .replace(/ execute function \S*?(custody_\w+\()/, ' execute function $1')
    .replaceAll(/[\s()]+/g, '');
}

async function changedFunctions(db: Db, { schema }: Place): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly name: string; readonly source: string }>`
    select proname as name, prosrc as source from pg_proc
    where pronamespace = to_regnamespace(${`"${schema}"`}) and proname = any(${Object.keys(GUARD_FUNCTIONS)})`.execute(
    db,
  );
  const found = new Map(rows.map(({ name, source }) => [name, withoutBlanks(source)]));
  return Object.entries(GUARD_FUNCTIONS).flatMap(([name, body]) =>
    found.get(name) === withoutBlanks(body) ? [] : [name],
  );
}

function withoutBlanks(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

import type { Transaction } from 'kysely';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { compareCodePoints } from '../../core/json.ts';
import type { PostgresLocation } from '../../core/postgres-url.ts';
import { StoreError } from '../../errors.ts';
import { createLedgerTables } from '../sql/migrations/0001-ledger.ts';
import { createRecordTable } from '../sql/migrations/0002-records.ts';
import type { Tables } from '../sql/tables.ts';
import { createPostgresGuards } from './postgres-guards.ts';
import { createPartitions, PARTITIONED, partitionName } from './postgres-partitions.ts';
import type { OwnPool } from './postgres-pool.ts';
import { openPool } from './postgres-pool.ts';

/** What a schema says of itself. */
interface SchemaVersion {
  custody_schema: { version: number };
}

type SchemaDb = Kysely<Tables & SchemaVersion>;

/** From nothing to the newest schema. Each step is written once and never edited. */
const STEPS: readonly ((db: Kysely<unknown>) => Promise<void>)[] = [
  async (db) => {
    await createLedgerTables(db, 'many');
    await createRecordTable(db, 'many');
    await createPostgresGuards(db);
  },
];

/** The schema version that opening a store brings it to. */
export const POSTGRES_SCHEMA_VERSION = STEPS.length;

/** What opening a schema needs to know. */
export interface OpenPostgresOptions {
  readonly location: PostgresLocation;
  /** Make schema and ledger when they are missing; otherwise that is an error. */
  readonly create: boolean;
  readonly readOnly: boolean;
  /** Writes the first head of a new ledger; runs in the transaction that makes its partitions. */
  readonly seed: (db: Kysely<Tables>) => Promise<void>;
}

/** What was found: null where there is none. */
interface Found {
  readonly version: number | null;
  readonly hasLedger: boolean;
  /** True where the ledger's log is, whatever has become of its head. */
  readonly hasLog: boolean;
}

/**
 * Brings the schema up to date and makes the ledger, where that is wanted and needed. A place that is ready is looked
 * at once: no lock is taken and nothing is written.
 *
 * @returns true if the ledger was made.
 * @throws StoreError `store_missing`, `store_unreadable`, `not_a_store` or `schema_newer`; nothing is changed then.
 */
export async function preparePostgres(pool: OwnPool, options: OpenPostgresOptions): Promise<boolean> {
  const db: SchemaDb = new Kysely({ dialect: new PostgresDialect({ pool: pool.forKysely }) });
  const found = await look(db, options);
  assertKnown(found, options);
  if (found.version === POSTGRES_SCHEMA_VERSION && found.hasLedger) return false;
  if (options.readOnly || (!options.create && !found.hasLedger)) throw refusal(found, options);
  return db
    .transaction()
    .setIsolationLevel('read committed')
    .execute((transaction) => prepareLocked(transaction, options));
}

async function look(db: SchemaDb, { location }: Pick<OpenPostgresOptions, 'location'>): Promise<Found> {
  // One question that works whether or not the table is there.
  const { rows } = await sql<{ is_there: boolean }>`
    select to_regclass(${`"${location.schema}".custody_schema`}) is not null as is_there`.execute(db);
  if (rows[0]?.is_there !== true) return { version: null, hasLedger: false, hasLog: false };
  const marks = await sql<{ version: number; has_ledger: boolean; has_log: boolean }>`
    select version, exists (
      select from ${sql.id(location.schema, 'ledger_head')} where ledger = ${location.ledger}) as has_ledger,
      exists (select from pg_class where relnamespace = to_regnamespace(${`"${location.schema}"`})
        and relname = any(${PARTITIONED.map((table) => partitionName(table, location.ledger))})) as has_log
    from ${sql.id(location.schema, 'custody_schema')}`.execute(db);
  const mark = marks.rows[0];
  return {
    version: mark?.version ?? null,
    hasLedger: mark?.has_ledger ?? false,
    hasLog: mark?.has_log ?? false,
  };
}

function assertKnown(
  { version, hasLedger, hasLog }: Found,
  { location }: Pick<OpenPostgresOptions, 'location'>,
): void {
  if (hasLog && !hasLedger)
    throw new StoreError('store_corrupt', `the ledger ${location.ledger} has a log and no head`, {
      hint: 'Somebody removed it behind the ledger. Restore the schema from a backup; it was not changed.',
      facts: { url: location.shown, schema: location.schema, ledger: location.ledger },
    });
  if (version === null || version <= POSTGRES_SCHEMA_VERSION) return;
  throw new StoreError(
    'schema_newer',
    `${location.shown} has schema ${version}, this version knows ${POSTGRES_SCHEMA_VERSION}`,
    {
      hint: 'Use the newer custody that wrote it; it was not changed.',
      facts: { url: location.shown, schema_version: version, known: POSTGRES_SCHEMA_VERSION },
    },
  );
}

function refusal(
  { version, hasLedger }: Found,
  { location }: Pick<OpenPostgresOptions, 'location'>,
): StoreError {
  const facts = { url: location.shown, schema: location.schema, ledger: location.ledger };
  if (!hasLedger)
    return new StoreError('store_missing', `there is no ledger at ${location.shown}`, {
      hint: 'Make one with `custody init`, or give its place with -s.',
      facts,
    });
  return new StoreError(
    'store_unreadable',
    `${location.shown} has schema ${String(version)}, reading needs ${POSTGRES_SCHEMA_VERSION}`,
    {
      hint: 'Open it once with a writing command such as `custody init`.',
      facts: { ...facts, schema_version: version },
    },
  );
}

/**
 * The names of the ledgers in a schema, sorted by code point. Reads only.
 *
 * @throws StoreError `store_missing` if the schema is not there or none of ours.
 */
export async function listPostgresLedgers(location: PostgresLocation): Promise<readonly string[]> {
  const pool = openPool(location);
  try {
    const db: SchemaDb = new Kysely({ dialect: new PostgresDialect({ pool: pool.forKysely }) });
    const found = await look(db, { location });
    if (found.version === null) throw refusal(found, { location });
    const heads = await db.withSchema(location.schema).selectFrom('ledger_head').select('ledger').execute();
    return heads.map((head) => head.ledger).sort(compareCodePoints);
  } finally {
    await pool.close();
  }
}

/** The lock ends with the transaction, so that no pooler can keep it. */
async function prepareLocked(
  db: Transaction<Tables & SchemaVersion>,
  options: OpenPostgresOptions,
): Promise<boolean> {
  const { schema, ledger } = options.location;
  await sql`select pg_advisory_xact_lock(hashtextextended(${`custody ${schema}`}, 0))`.execute(db);
  // Asked again under the lock: another process may have been faster.
  const found = await look(db, options);
  assertKnown(found, options);
  await makeSchema(db, schema);
  await sql`set local search_path = ${sql.id(schema)}`.execute(db);
  const plain = db as unknown as Kysely<unknown>;
  if (found.version === null) await makeVersionTable(db, options);
  for (const step of STEPS.slice(found.version ?? 0)) await step(plain);
  await db.updateTable('custody_schema').set({ version: POSTGRES_SCHEMA_VERSION }).execute();
  if (found.hasLedger) return false;
  await createPartitions(plain, ledger);
  await options.seed(db as unknown as Kysely<Tables>);
  return true;
}

/** Asked first: "if not exists" needs the right to make one even where there is one. */
async function makeSchema(db: Kysely<unknown> | SchemaDb, schema: string): Promise<void> {
  const { rows } = await sql<{ is_there: boolean }>`
    select to_regnamespace(${`"${schema}"`}) is not null as is_there`.execute(db);
  if (rows[0]?.is_there !== true) await sql`create schema ${sql.id(schema)}`.execute(db);
}

/** A schema in which something of ours would stand in the way of somebody else's is left alone. */
async function makeVersionTable(db: SchemaDb, { location }: OpenPostgresOptions): Promise<void> {
  const taken = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = to_regnamespace(${`"${location.schema}"`}) and relkind in ('r', 'p', 'v', 'm', 'f')
      and relname in ('event', 'run', 'lease', 'question', 'task_row', 'ledger_head') limit 1`.execute(db);
  const [other] = taken.rows;
  if (other !== undefined)
    throw new StoreError(
      'not_a_store',
      `the schema ${location.schema} has a table ${other.name} of another program`,
      {
        hint: 'Give another schema with ?schema=NAME; this one was not changed.',
        facts: { url: location.shown, schema: location.schema },
      },
    );
  await sql`create table custody_schema (version int not null)`.execute(db);
  await db.insertInto('custody_schema').values({ version: 0 }).execute();
}

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, inject, onTestFinished } from 'vitest';

/** The server that this run of the tests has, as a URL with the owner's name and password. */
export function postgresUrl(): string {
  return inject('postgresUrl');
}

/** A schema for the tests of one place. */
export interface TestSchema {
  readonly name: string;
  /** Its URL, without a ledger. Nothing is there yet. */
  readonly url: string;
  drop(): Promise<void>;
}

/** A schema that lasts for as long as whoever asks for it wants. */
export function makeSchema(): TestSchema {
  const name = `custody_test_${randomBytes(4).toString('hex')}`;
  return {
    name,
    url: `${postgresUrl()}?schema=${name}`,
    drop: async () => {
      await (await plainSession()).query(`drop schema if exists ${name} cascade`);
    },
  };
}

/** The URL of a schema that is dropped when the test has ended. */
export async function newSchema(): Promise<string> {
  const { url, drop } = makeSchema();
  onTestFinished(drop);
  return url;
}

/** One ledger of the schema that the tests of a run share. */
export interface TestLedger {
  readonly url: string;
  /** True if nobody has used it before: opening it makes it. */
  readonly isNew: boolean;
  /** Gives it back, emptied, for the next test. */
  giveBack(): Promise<void>;
}

let session: Promise<pg.Client> | null = null;

/** A plain SQL session of the server's owner, one for each file of tests; it ends with the file. */
export function plainSession(): Promise<pg.Client> {
  session ??= connect();
  return session;
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(postgresUrl());
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

afterAll(async () => {
  await (await session)?.end();
});

/**
 * An empty ledger. Making one takes longer than most tests do, so they are used again: what the guards would refuse,
 * the owner of a server may do with the triggers off.
 */
export async function takeLedger(): Promise<TestLedger> {
  const schema = inject('postgresSchema');
  const sql = await plainSession();
  const { rows } = await sql.query<{ ledger: string }>(
    `delete from ${schema}.free_ledger where ledger in (
      select ledger from ${schema}.free_ledger limit 1 for update skip locked) returning ledger`,
  );
  const ledger = rows[0]?.ledger ?? `t${randomBytes(4).toString('hex')}`;
  return {
    url: `${postgresUrl()}?schema=${schema}&ledger=${ledger}`,
    isNew: rows.length === 0,
    giveBack: () => emptyLedger(sql, { schema, ledger }),
  };
}

/** A handle that a test left open may hold the lock for a moment. */
async function emptyLedger(
  sql: pg.Client,
  { schema, ledger }: { readonly schema: string; readonly ledger: string },
): Promise<void> {
  if (await clearLedger(sql, { schema, ledger }))
    await sql.query(`insert into ${schema}.free_ledger values ('${ledger}')`);
}

/** Makes a ledger what it was when it was new; false if nobody has made it. Its handles must be closed. */
export async function clearLedger(
  sql: pg.Client,
  { schema, ledger }: { readonly schema: string; readonly ledger: string },
): Promise<boolean> {
  const { rows } = await sql.query<{ place: string }>(
    `select format('%I.%I', $1::text, relname) as place from pg_class
     where relnamespace = to_regnamespace($1) and relkind = 'r' and relname like $2`,
    [schema, `%\\_\\_${ledger}`],
  );
  if (rows.length === 0) return false;
  await sql.query(`begin; set local session_replication_role = replica;
    select from ${schema}.ledger_head where ledger = '${ledger}' for update;
    ${rows.map(({ place }) => `delete from ${place}`).join(';')};
    update ${schema}.ledger_head set seq = 0, hash = repeat('0', 64), epoch = 1, incarnation = gen_random_uuid()::text
      where ledger = '${ledger}';
    commit`);
  return true;
}

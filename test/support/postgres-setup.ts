import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import type { PostgresServer } from './postgres-server.ts';
import { startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The server that this run has, as a URL with the owner's name and password. */
    postgresUrl: string;
    /** The schema of the ledgers that tests share. */
    postgresSchema: string;
  }
}

/** What this run has. */
interface Place {
  readonly url: string;
  readonly schema: string;
  /** Null if the server is somebody else's. */
  readonly server: PostgresServer | null;
}

/** What the projects of one run share. Each of them loads this file anew, so it hangs on the process. */
interface Shared {
  place: Promise<Place> | null;
  projects: number;
}

const KEY = Symbol.for('custody.test.postgres');
const holder = globalThis as { [KEY]?: Shared };
holder[KEY] ??= { place: null, projects: 0 };
const shared = holder[KEY];

/** Starts one PostgreSQL for the whole run, unless `CUSTODY_TEST_POSTGRES_URL` names one, as a superuser of it. */
export async function setup(project: TestProject): Promise<void> {
  shared.projects += 1;
  shared.place ??= makePlace();
  const { url, schema } = await shared.place;
  project.provide('postgresUrl', url);
  project.provide('postgresSchema', schema);
}

/** Removes it with the last project, also when tests failed. */
export async function teardown(): Promise<void> {
  shared.projects -= 1;
  if (shared.projects > 0) return;
  const place = await shared.place;
  if (place?.server === null) await run(place.url, `drop schema ${place.schema} cascade`);
  await place?.server?.stop();
}

async function makePlace(): Promise<Place> {
  const given = process.env['CUSTODY_TEST_POSTGRES_URL'];
  const server = given === undefined ? await startPostgres() : null;
  const url = given ?? server?.url ?? '';
  const schema = `custody_test_${randomBytes(4).toString('hex')}`;
  await run(url, `create schema ${schema}; create table ${schema}.free_ledger (ledger text primary key)`);
  return { url, schema, server };
}

async function run(url: string, statements: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(statements);
  await client.end();
}

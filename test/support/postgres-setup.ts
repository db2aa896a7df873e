import type { TestProject } from 'vitest/node';
import type { PostgresServer } from './postgres-server.ts';
import { startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The server that this run has, as a URL with the owner's name and password. */
    postgresUrl: string;
  }
}

/** What the projects of one run share. Each of them loads this file anew, so it hangs on the process. */
interface Shared {
  server: Promise<PostgresServer> | null;
  projects: number;
}

const KEY = Symbol.for('custody.test.postgres');
const holder = globalThis as { [KEY]?: Shared };
holder[KEY] ??= { server: null, projects: 0 };
const shared = holder[KEY];

/** Starts one PostgreSQL for the whole run, unless `CUSTODY_TEST_POSTGRES_URL` names one. */
export async function setup(project: TestProject): Promise<void> {
  shared.projects += 1;
  const given = process.env['CUSTODY_TEST_POSTGRES_URL'];
  if (given === undefined) shared.server ??= startPostgres();
  project.provide('postgresUrl', given ?? (await shared.server)?.url ?? '');
}

/** Ends it with the last project, also when tests failed. */
export async function teardown(): Promise<void> {
  shared.projects -= 1;
  if (shared.projects === 0) await (await shared.server)?.stop();
}

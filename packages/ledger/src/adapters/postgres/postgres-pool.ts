import type { PostgresPool, PostgresPoolClient } from 'kysely';
import pg from 'pg';
import type { PostgresLocation } from '../../core/postgres-url.ts';
import { StoreError } from '../../errors.ts';
import { toLedgerError } from './postgres-error.ts';

/** `bigint` and `count(*)`. Ours are places, versions and milliseconds, far below 2^53. */
const INT8 = 20;

/** For our connections only: another user of the driver in this process keeps what he has set. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : (pg.types.getTypeParser(oid, format) as (value: string) => unknown),
};

/** Settings of every connection to a place. */
export function clientConfig(location: PostgresLocation): pg.ClientConfig {
  return {
    application_name: 'custody',
    connectionString: location.connection,
    connectionTimeoutMillis: location.connectTimeoutMs,
    ...(location.statementTimeoutMs === null ? {} : { statement_timeout: location.statementTimeoutMs }),
    keepAlive: true,
    pipeline: true,
    types: TYPES,
  };
}

/** The connections of one handle. */
export interface OwnPool {
  /** For Kysely, with our errors; ending it is left to `close`. */
  readonly forKysely: PostgresPool;
  /** Runs one statement on a connection of its own. */
  query(text: string, values: readonly unknown[]): Promise<void>;
  close(): Promise<void>;
}

/** Opens connections as they are needed. A bad option of the URL tells so here; nothing is sent. */
export function openPool(location: PostgresLocation): OwnPool {
  const pool = makePool(location);
  // A connection that nobody uses may end; the next user gets another one.
  pool.on('error', () => undefined);
  return {
    forKysely: {
      connect: async () => {
        try {
          return guarded(await pool.connect(), location);
        } catch (error) {
          throw toLedgerError(error, location.shown);
        }
      },
      end: () => Promise.resolve(),
    },
    query: async (text, values) => {
      await pool.query(text, [...values]);
    },
    close: async () => {
      if (!pool.ending) await pool.end();
    },
  };
}

function makePool(location: PostgresLocation): pg.Pool {
  try {
    return new pg.Pool({ ...clientConfig(location), max: location.poolMax });
  } catch (cause) {
    throw new StoreError('store_unreadable', `the files of the TLS options can't be used: ${String(cause)}`, {
      hint: 'Check sslcert, sslkey and sslrootcert.',
      facts: { url: location.shown },
      cause,
    });
  }
}

/** One wrapper a connection, so that Kysely knows it again. */
const wrappers = new WeakMap<pg.PoolClient, PostgresPoolClient>();

function guarded(client: pg.PoolClient, location: PostgresLocation): PostgresPoolClient {
  const known = wrappers.get(client);
  if (known !== undefined) return known;
  // While it is in use as well: the statement under way fails with the same error.
  client.on('error', () => undefined);
  const wrapper = {
    query: async (text: string, values: readonly unknown[]) => {
      const name = location.isPrepared && values.length > 0 ? nameOf(text) : undefined;
      try {
        return await client.query({ text, values: [...values], ...(name === undefined ? {} : { name }) });
      } catch (error) {
        throw toLedgerError(error, location.shown);
      }
    },
    release: (discard?: boolean | Error) => client.release(discard),
  };
  wrappers.set(client, wrapper as unknown as PostgresPoolClient);
  return wrapper as unknown as PostgresPoolClient;
}

/** Statements that are prepared, by their text; queries with a fixed text hit always, so the bound only guards against a leak. */
const names = new Map<string, string>();
const MAX_NAMES = 1000;

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MAX_NAMES) return known;
  const name = `custody_${names.size + 1}`;
  names.set(text, name);
  return name;
}

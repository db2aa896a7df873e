import { GENESIS_HASH } from '../../core/event-hash.ts';
import type { PostgresLocation } from '../../core/postgres-url.ts';
import type { Clock, NewId } from '../../ports/clock.ts';
import type { LedgerStore } from '../../ports/ledger-store.ts';
import { readHead } from '../sql/read-head.ts';
import { sqlCustodyReader } from '../sql/sql-custody-reader.ts';
import { sqlEventStore } from '../sql/sql-event-store.ts';
import { sqlManagedStore } from '../sql/sql-managed-store.ts';
import { sqlRecordStore } from '../sql/sql-record-store.ts';
import { sqlLeaderStore, sqlSettleScan, sqlStateStore } from '../sql/sql-small-stores.ts';
import { sqlTaskRows } from '../sql/sql-task-rows.ts';
import type { SqlContext, Tables } from '../sql/tables.ts';
import type { WritableContext } from '../sql/write-transaction.ts';
import { commitListener } from './commit-listener.ts';
import { commitTeller } from './commit-teller.ts';
import { databaseClock } from './database-clock.ts';
import { POSTGRES_SCHEMA_VERSION, preparePostgres } from './open-postgres.ts';
import { postgresCommitSignal } from './postgres-commit-signal.ts';
import { openKysely } from './postgres-dialect.ts';
import { placesOf } from './postgres-partitions.ts';
import type { OwnPool } from './postgres-pool.ts';
import { openPool } from './postgres-pool.ts';
import { postgresSession, readClock } from './postgres-session.ts';
import { verifyPostgres } from './verify-postgres.ts';

/** What opening a PostgreSQL ledger needs. */
export interface PostgresStoreOptions {
  readonly location: PostgresLocation;
  readonly create: boolean;
  readonly readOnly: boolean;
  /** Null: the time is the database's. */
  readonly clock: Clock | null;
  readonly newId: NewId;
}

/** A ledger in one PostgreSQL schema, which may hold others. */
export async function postgresStore(options: PostgresStoreOptions): Promise<LedgerStore> {
  const pool = openPool(options.location);
  try {
    return await openOn(pool, options);
  } catch (error) {
    await pool.close();
    throw error;
  }
}

async function openOn(pool: OwnPool, options: PostgresStoreOptions): Promise<LedgerStore> {
  const { location, newId } = options;
  const { ledger } = location;
  const created = await preparePostgres(pool, {
    ...options,
    seed: async (db) => {
      await db
        .insertInto('ledger_head')
        .values({ ledger, seq: 0, hash: GENESIS_HASH, epoch: 1, incarnation: newId() })
        .execute();
    },
  });
  const tables = contextOn(pool, options);
  const clock = databaseClock(await readClock(tables.reader));
  const teller = commitTeller(pool, location);
  const listener = commitListener(location);
  const context: WritableContext = {
    ...tables,
    session: postgresSession({
      epoch: (await readHead(tables.reader, ledger)).epoch,
      clock: options.clock,
      databaseClock: clock,
      committed: teller.committed,
    }),
  };
  return {
    kind: 'postgres',
    url: location.shown,
    created,
    schemaVersion: POSTGRES_SCHEMA_VERSION,
    clock: options.clock ?? clock,
    events: sqlEventStore(context, newId),
    custody: sqlCustodyReader(context),
    rows: sqlTaskRows(context, newId),
    scan: sqlSettleScan(context),
    state: sqlStateStore(context),
    leaders: sqlLeaderStore(context),
    records: sqlRecordStore(context),
    managed: sqlManagedStore(context, { newId, commits: postgresCommitSignal(context, listener) }),
    verify: (request) => verifyPostgres(context, location, request),
    close: async () => {
      await teller.close();
      await listener.close();
      await pool.close();
    },
  };
}

/** A read of several statements sees one moment; a write sees what was committed before each of its statements. */
const BEGIN_READ = 'begin isolation level repeatable read, read only';

function contextOn(pool: OwnPool, { location, readOnly }: PostgresStoreOptions): SqlContext {
  const placeOf = placesOf(location.schema, location.ledger);
  const openWith = (begin: string) => openKysely<Tables>({ pool: pool.forKysely, begin, placeOf });
  const reader = openWith(BEGIN_READ);
  return {
    reader,
    writer: readOnly ? reader : openWith(beginWrite(location)),
    ledger: location.ledger,
    flags: {
      keyList: 'any_array',
      ledgers: 'many',
      statements: 'sent_ahead',
      placeOf: (table) => placeOf(table) ?? `"${table}"`,
    },
  };
}

/** A writer that stands still, such as one in a frozen process, is cut off: everybody waits for the lock that it holds. */
const IDLE_TIMEOUT_MS = 30_000;

function beginWrite({ lockTimeoutMs }: PostgresLocation): string {
  return `begin isolation level read committed, read write; set local lock_timeout = ${lockTimeoutMs};
    set local idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS}`;
}

import { GENESIS_HASH } from '../../core/event-hash.ts';
import type { Clock, NewId } from '../../ports/clock.ts';
import type { LedgerStore } from '../../ports/ledger-store.ts';
import { readHead } from '../sql/read-head.ts';
import { sqlCustodyReader } from '../sql/sql-custody-reader.ts';
import { sqlEventStore } from '../sql/sql-event-store.ts';
import { sqlManagedStore } from '../sql/sql-managed-store.ts';
import { sqlRecordStore } from '../sql/sql-record-store.ts';
import { sqlLeaderStore, sqlSettleScan, sqlStateStore } from '../sql/sql-small-stores.ts';
import { sqlTaskRows } from '../sql/sql-task-rows.ts';
import type { SqlContext } from '../sql/tables.ts';
import type { WritableContext } from '../sql/write-transaction.ts';
import { lockedSession } from '../sql/write-transaction.ts';
import type { Durability } from './open-sqlite.ts';
import { openSqlite, SQLITE_SCHEMA_VERSION } from './open-sqlite.ts';
import { sqliteCommitSignal } from './sqlite-commit-signal.ts';
import { verifySqlite } from './verify-sqlite.ts';

/** The name of the only ledger in a SQLite file. */
const SQLITE_LEDGER = 'main';

/** How long a writer waits for another process, in milliseconds. Longer than any transaction of ours. */
const BUSY_TIMEOUT_MS = 15_000;

/** What opening a SQLite ledger needs. */
export interface SqliteStoreOptions {
  readonly path: string;
  readonly create: boolean;
  readonly readOnly: boolean;
  readonly durability: Durability;
  readonly clock: Clock;
  readonly newId: NewId;
}

/** A ledger in one SQLite file. */
export async function sqliteStore(options: SqliteStoreOptions): Promise<LedgerStore> {
  const handles = await openSqlite({
    ...options,
    busyTimeoutMs: BUSY_TIMEOUT_MS,
    seed: async (db) => {
      await db
        .insertInto('ledger_head')
        .values({ ledger: SQLITE_LEDGER, seq: 0, hash: GENESIS_HASH, epoch: 1, incarnation: options.newId() })
        .execute();
    },
  });
  const tables: SqlContext = {
    writer: handles.writer,
    reader: handles.reader,
    ledger: SQLITE_LEDGER,
    flags: { keyList: 'json_each', ledgers: 'one' },
  };
  const context: WritableContext = {
    ...tables,
    session: lockedSession(options.clock, await epochAtOpen(tables)),
  };
  return {
    kind: 'sqlite',
    url: `sqlite:${options.path}`,
    created: handles.created,
    schemaVersion: SQLITE_SCHEMA_VERSION,
    events: sqlEventStore(context, options.newId),
    custody: sqlCustodyReader(context),
    rows: sqlTaskRows(context, options.newId),
    scan: sqlSettleScan(context),
    state: sqlStateStore(context),
    leaders: sqlLeaderStore(context),
    records: sqlRecordStore(context),
    managed: sqlManagedStore(context, {
      newId: options.newId,
      commits: sqliteCommitSignal(context.reader),
    }),
    verify: (request) => verifySqlite(context, request),
    close: handles.close,
  };
}

/** The epoch that this handle may write in; 0, which is none, if the head can't be read: the next write says why. */
async function epochAtOpen({ reader, ledger }: SqlContext): Promise<number> {
  try {
    return (await readHead(reader, ledger)).epoch;
  } catch {
    return 0;
  }
}

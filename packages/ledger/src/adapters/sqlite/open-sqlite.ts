import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { Kysely } from 'kysely';
import { StoreError } from '../../errors.ts';
import { createLedgerTables } from '../sql/migrations/0001-ledger.ts';
import { createRecordTable } from '../sql/migrations/0002-records.ts';
import type { Tables } from '../sql/tables.ts';
import { copyDatabase } from './database-copy.ts';
import { putRowsInKeys } from './rows-in-keys.ts';
import { CustodySqliteDialect } from './sqlite-dialect.ts';
import { toLedgerError } from './sqlite-error.ts';
import { createRecordGuards, createSqliteGuards } from './sqlite-guards.ts';

/** What a file holds, so that no program takes one for the other. */
export interface SqliteSchema {
  /** Marks a file as ours (`PRAGMA application_id`). */
  readonly applicationId: number;
  /** From nothing to the newest schema (`PRAGMA user_version`). Each step is written once and never edited. */
  readonly steps: readonly ((db: Kysely<unknown>) => Promise<void>)[];
}

/** A ledger's file: "CUST". */
const LEDGER_SCHEMA: SqliteSchema = {
  applicationId: 0x43555354,
  steps: [
    async (db) => {
      await createLedgerTables(db, 'one');
      await createSqliteGuards(db);
    },
    async (db) => {
      await createRecordTable(db, 'one');
      await createRecordGuards(db);
    },
    // Files of the first version; new ones are laid out like this from their first step on.
    async (db) => {
      if (!(await putRowsInKeys(db))) return;
      await createSqliteGuards(db);
      await createRecordGuards(db);
    },
  ],
};

/** The schema version that opening a store brings it to. */
export const SQLITE_SCHEMA_VERSION = LEDGER_SCHEMA.steps.length;

/** How durable a commit is: `full` survives power loss, `normal` only a crash of the process. */
export type Durability = 'full' | 'normal';

/** What opening a file needs to know. */
export interface OpenSqliteOptions {
  readonly path: string;
  /** Make the file when it is missing; otherwise that is an error. */
  readonly create: boolean;
  readonly readOnly: boolean;
  readonly durability: Durability;
  /** How long to wait for another process's lock, in milliseconds. */
  readonly busyTimeoutMs: number;
  /** The tables' setup beyond the schema, such as the first head; runs in the creating transaction. */
  readonly seed: (db: Kysely<Tables>) => Promise<void>;
  /** @default that of a ledger */
  readonly schema?: SqliteSchema;
}

/** Two handles on one file: one that writes, one that reads snapshots. */
export interface SqliteHandles {
  readonly writer: Kysely<Tables>;
  readonly reader: Kysely<Tables>;
  readonly created: boolean;
  readonly close: () => Promise<void>;
}

/**
 * Opens a ledger's file.
 *
 * @throws StoreError `store_missing`, `store_unreadable`, `not_a_store` or `schema_newer`; nothing is changed then.
 */
export async function openSqlite(options: OpenSqliteOptions): Promise<SqliteHandles> {
  refuseDirectory(options.path);
  const isMissing = !existsSync(options.path);
  if (isMissing && (!options.create || options.readOnly)) {
    throw new StoreError('store_missing', `there is no store at ${options.path}`, {
      hint: 'Make one with `custody init`, or give its place with -s.',
      facts: { path: options.path },
    });
  }
  if (isMissing) makeFolder(options.path);
  try {
    return await openInPlace(options);
  } catch (error) {
    if (!options.readOnly || !isWriteRefused(error)) throw error;
    return openCopied(options, error);
  }
}

/** Reading a database makes files beside it. Where that is not allowed it is read from a copy. */
async function openCopied(options: OpenSqliteOptions, refusal: unknown): Promise<SqliteHandles> {
  const copy = copyDatabase(options.path);
  if (copy === null) throw refusal;
  try {
    const handles = await openInPlace({ ...options, path: copy.path });
    return {
      ...handles,
      close: async () => {
        await handles.close();
        copy.remove();
      },
    };
  } catch (error) {
    copy.remove();
    throw error;
  }
}

function isWriteRefused(error: unknown): boolean {
  const code = error instanceof StoreError ? error.facts['sqlite_code'] : undefined;
  return (
    typeof code === 'string' && (code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN'))
  );
}

async function openInPlace(options: OpenSqliteOptions): Promise<SqliteHandles> {
  const reader = openHandle(options.path, options);
  let writer = reader;
  try {
    if (!options.readOnly) writer = openHandle(options.path, options);
    const created = options.readOnly ? false : await migrate(writer, options);
    if (options.readOnly) assertCurrentSchema(reader, options.path, schemaOf(options));
    return toHandles({ reader, writer, created, readOnly: options.readOnly });
  } catch (error) {
    reader.close();
    writer.close();
    throw toLedgerError(error, options.path);
  }
}

/**
 * Opens a database of this process alone. It spills to an unnamed file that is gone with the handle, so that
 * a large one needs no memory. One handle reads and writes.
 */
export async function openPrivateSqlite(
  options: Pick<OpenSqliteOptions, 'seed'> & { readonly schema: SqliteSchema },
): Promise<SqliteHandles> {
  const handle = new Database('');
  // Nobody will ever open it again, so a commit needs no sync.
  handle.pragma('journal_mode = MEMORY');
  handle.pragma('synchronous = OFF');
  await migrate(handle, { ...options, path: '' });
  const db = new Kysely<Tables>({ dialect: new CustodySqliteDialect(handle, { immediate: true }) });
  return { reader: db, writer: db, created: true, close: () => db.destroy() };
}

/** Shows a store of the newest schema that has nothing in it, to hold another one against it. */
export async function withFreshSchema<T>(look: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
  const handles = await openPrivateSqlite({ schema: LEDGER_SCHEMA, seed: async () => undefined });
  try {
    return await look(handles.reader);
  } finally {
    await handles.close();
  }
}

function toHandles(open: {
  reader: Database.Database;
  writer: Database.Database;
  created: boolean;
  readOnly: boolean;
}): SqliteHandles {
  const reader = new Kysely<Tables>({ dialect: new CustodySqliteDialect(open.reader, { immediate: false }) });
  const writer = open.readOnly
    ? reader
    : new Kysely<Tables>({ dialect: new CustodySqliteDialect(open.writer, { immediate: true }) });
  return {
    reader,
    writer,
    created: open.created,
    close: async () => {
      // The writer last: it is the one that may fold the write-ahead log into the file.
      await reader.destroy();
      if (writer !== reader) await writer.destroy();
      // Kysely closes only what it has used.
      open.reader.close();
      open.writer.close();
    },
  };
}

function refuseDirectory(path: string): void {
  // A path through a file is simply not there; `statSync` alone would throw.
  if (!existsSync(path) || !statSync(path).isDirectory()) return;
  throw new StoreError('not_a_store', `${path} is a directory, a SQLite store is a file`, {
    hint: 'For a directory of JSON Lines use jsonl:DIR.',
    facts: { path },
  });
}

function makeFolder(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (cause) {
    throw new StoreError('store_unreadable', `the folder of ${path} can't be made`, {
      hint: 'Check the path and its permissions.',
      facts: { path },
      cause,
    });
  }
}

function openHandle(path: string, options: OpenSqliteOptions): Database.Database {
  try {
    const handle = new Database(path, { readonly: options.readOnly, timeout: options.busyTimeoutMs });
    if (!options.readOnly) {
      assertOurs(handle, path, schemaOf(options));
      if (!options.create) assertMade(handle, path);
      // WAL: readers never wait for the writer, and a commit is one write to one file.
      handle.pragma('journal_mode = WAL');
      // FULL: in WAL mode NORMAL may lose the newest commits on power loss (P1).
      handle.pragma(`synchronous = ${options.durability === 'full' ? 'FULL' : 'NORMAL'}`);
      handle.pragma('foreign_keys = ON');
    }
    return handle;
  } catch (error) {
    throw toLedgerError(error, path);
  }
}

function schemaOf(options: { readonly schema?: SqliteSchema }): SqliteSchema {
  return options.schema ?? LEDGER_SCHEMA;
}

function assertOurs(handle: Database.Database, path: string, schema: SqliteSchema): void {
  const newest = schema.steps.length;
  const { application, version, tables } = readMarks(handle);
  if (application !== schema.applicationId && (application !== 0 || version !== 0 || tables > 0)) {
    throw new StoreError('not_a_store', `${path} is a SQLite database of another program`, {
      hint: 'Check the path given with -s; it was not changed.',
      facts: { path },
    });
  }
  if (version > newest) {
    throw new StoreError('schema_newer', `${path} has schema ${version}, this version knows ${newest}`, {
      hint: 'Use the newer custody that wrote it; it was not changed.',
      facts: { path, schema_version: version, known: newest },
    });
  }
}

/** What a file says of itself, of one moment: between two looks another process may have made the store. */
function readMarks(handle: Database.Database): { application: number; version: number; tables: number } {
  return handle
    .prepare(
      `select (select application_id from pragma_application_id) as application,
        (select user_version from pragma_user_version) as version,
        (select count(*) from sqlite_master where type = 'table') as tables`,
    )
    .get() as { application: number; version: number; tables: number };
}

/** A store that was cut to nothing must not come back as one that never held anything. */
function assertMade(handle: Database.Database, path: string): void {
  if (Number(handle.pragma('user_version', { simple: true })) > 0) return;
  throw new StoreError('not_a_store', `${path} is empty`, {
    hint: 'If there was a ledger, restore it from a backup; `custody init` makes a new one.',
    facts: { path },
  });
}

function assertCurrentSchema(handle: Database.Database, path: string, schema: SqliteSchema): void {
  assertOurs(handle, path, schema);
  const version = Number(handle.pragma('user_version', { simple: true }));
  const newest = schema.steps.length;
  if (version === newest) return;
  throw new StoreError(
    version === 0 ? 'not_a_store' : 'store_unreadable',
    `${path} has schema ${version}, reading needs ${newest}`,
    {
      hint: 'Open it once with a writing command such as `custody init`.',
      facts: { path, schema_version: version },
    },
  );
}

/** Runs the missing steps in one transaction, so that a crash leaves the old schema or the new one. */
async function migrate(
  handle: Database.Database,
  options: Pick<OpenSqliteOptions, 'path' | 'seed'> & { readonly schema?: SqliteSchema },
): Promise<boolean> {
  const schema = schemaOf(options);
  if (Number(handle.pragma('user_version', { simple: true })) === schema.steps.length) return false;
  const db = new Kysely<Tables>({ dialect: new CustodySqliteDialect(handle, { immediate: true }) });
  return db.transaction().execute(async (transaction) => {
    // Asked again under the lock: another process may have been faster.
    const version = Number(handle.pragma('user_version', { simple: true }));
    if (version > 0) assertOurs(handle, options.path, schema);
    for (const step of schema.steps.slice(version)) await step(transaction as unknown as Kysely<unknown>);
    if (version === 0) await options.seed(transaction);
    handle.pragma(`application_id = ${schema.applicationId}`);
    handle.pragma(`user_version = ${schema.steps.length}`);
    return version === 0;
  });
}

import { randomUUID } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import { sql } from 'kysely';
import { GENESIS_HASH } from '../../core/event-hash.ts';
import type { JsonlDialect } from '../../core/store-url.ts';
import { createLedgerTables } from '../sql/migrations/0001-ledger.ts';
import type { Tables } from '../sql/tables.ts';
import type { SqliteSchema } from '../sqlite/open-sqlite.ts';
import { putRowsInKeys } from '../sqlite/rows-in-keys.ts';

/** The name of the only ledger in an index. */
export const INDEX_LEDGER = 'main';

/** The tables of a ledger, as they follow from the log, and how far the log was followed. */
export interface IndexTables extends Tables {
  /** The segments of the chain, in order, as they were when they were read. */
  log_segment: {
    ord: number;
    name: string;
    identity: string;
    size: number;
    mtime_ms: number;
    /** Offset in the chain of the segment's first byte. */
    chain_start: number;
    /** Bytes of the segment whose lines are in the tables. */
    consumed: number;
    /** sha256 of the first bytes, and how many they are. */
    head_bytes: number;
    head_hash: string;
    /** sha256 from `tail_start` up to `consumed`: the last line that was consumed. */
    tail_start: number;
    tail_hash: string;
  };
  /** What the next line needs to know of the lines before it. One row. */
  log_state: { id: number; dialect: JsonlDialect | null; last_at: string };
  /** Row files that were found true, as they stood then. */
  row_check: { task_id: string; identity: string; size: number; mtime_ms: number; custody_seq: number };
  /** Processes that opened this ledger for writing. */
  own_process: { pid: number; host: string; opened_at_ms: number };
  /** Heals whose evidence is not yet known to be in the log. */
  heal_intent: {
    id: string;
    task_id: string;
    /** The process that writes the row; 0 when it gave the intent up. */
    owner_pid: number;
    created_at_ms: number;
    /** sha256 of the row's file once it is healed. */
    target_hash: string;
    /** Where the log stood: evidence is looked for behind it. */
    after_seq: number;
    incarnation: string;
    /** The evidence event as JSON. */
    event: string;
  };
}

/** The index, or a transaction on it. */
export type IndexDb = Kysely<IndexTables> | Transaction<IndexTables>;

/** Marks an index (`PRAGMA application_id`): "CUSX". It is no store: nothing in it can be written to. */
const INDEX_APPLICATION_ID = 0x43555358;

/** The time of a first row that gives none. */
export const FIRST_TIME = '1970-01-01T00:00:00.000Z';

/** The index's tables; an index of another schema is thrown away. */
export const INDEX_SCHEMA: SqliteSchema = {
  applicationId: INDEX_APPLICATION_ID,
  steps: [
    async (db) => {
      await createLedgerTables(db, 'one');
      await createIndexTables(db);
    },
    // An index of the first version has rows under ids that are given no more: the log is read anew.
    async (db) => {
      if (await putRowsInKeys(db)) await clearIndex(db as unknown as IndexDb, randomUUID());
    },
  ],
};

async function createIndexTables(db: Kysely<unknown>): Promise<void> {
  await sql`create table log_segment (
    ord int primary key, name text not null, identity text not null, size bigint not null, mtime_ms real not null,
    chain_start bigint not null, consumed bigint not null, head_bytes int not null, head_hash text not null,
    tail_start bigint not null, tail_hash text not null)`.execute(db);
  await sql`create table log_state (id int primary key, dialect text, last_at text not null)`.execute(db);
  await sql`create table row_check (
    task_id text primary key, identity text not null, size bigint not null, mtime_ms real not null, custody_seq bigint not null)`.execute(
    db,
  );
  await sql`create table own_process (
    pid int not null, host text not null, opened_at_ms bigint not null, primary key (pid, host))`.execute(db);
  await sql`create table heal_intent (
    id text primary key, task_id text not null, owner_pid int not null, created_at_ms bigint not null,
    target_hash text not null, after_seq bigint not null, incarnation text not null, event text not null)`.execute(
    db,
  );
}

/** The state of an index that has read nothing. */
export async function seedIndex(db: IndexDb, incarnation: string): Promise<void> {
  await db
    .insertInto('ledger_head')
    .values({ ledger: INDEX_LEDGER, seq: 0, hash: GENESIS_HASH, epoch: 1, incarnation })
    .execute();
  await db.insertInto('log_state').values({ id: 1, dialect: null, last_at: FIRST_TIME }).execute();
}

/** Everything that follows from the log, or speaks of places in it; intents and leases do not. */
const DERIVED = [
  'event',
  'run',
  'invocation',
  'run_evidence',
  'task_facts',
  'containment',
  'log_segment',
  'log_state',
  'row_check',
  'ledger_head',
] as const;

/** Forgets the log, inside a transaction, so that it can be read from the beginning. */
export async function clearIndex(db: IndexDb, incarnation: string): Promise<void> {
  for (const table of DERIVED) await db.deleteFrom(table).execute();
  await seedIndex(db, incarnation);
}

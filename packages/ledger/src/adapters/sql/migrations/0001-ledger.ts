import type { Kysely, RawBuilder } from 'kysely';
import { sql } from 'kysely';

/**
 * How many ledgers a database holds. With `many`, every key begins with the ledger, and each ledger has partitions of
 * its own, so that each scan stays inside one. Alone in its file a ledger needs no name in its keys, and SQLite may put rows where their keys are: an append
 * then touches half as many pages.
 */
export type LedgersOfDatabase = 'one' | 'many';

/** The tables of the first schema. */
export async function createLedgerTables(db: Kysely<unknown>, ledgers: LedgersOfDatabase): Promise<void> {
  await createLogTables(db, ledgers);
  const layout = layoutFor(ledgers);
  await createRows(db, layout);
  await createManaged(db, layout);
}

/** The log, and what follows from it. */
export async function createLogTables(db: Kysely<unknown>, ledgers: LedgersOfDatabase): Promise<void> {
  const layout = layoutFor(ledgers);
  await createLog(db, layout);
  await createRecords(db, layout);
}

/** The parts in which the tables of two databases differ. */
export interface Layout {
  /** A key of the given columns. */
  readonly key: (columns: string) => RawBuilder<unknown>;
  /** The column that orders the log. */
  readonly seq: RawBuilder<unknown>;
  /** A log's primary key, where the column does not say it. */
  readonly logKey: RawBuilder<unknown>;
  /** What ends the definition of a table whose rows stand in its key. */
  readonly inKey: RawBuilder<unknown>;
  /** What ends the definition of every other table. */
  readonly end: RawBuilder<unknown>;
  /** The type of texts, which sort by code point. */
  readonly text: RawBuilder<unknown>;
  /** The type of bytes. */
  readonly bytes: RawBuilder<unknown>;
}

/** How the tables of a database with one or with many ledgers are laid out. */
export function layoutFor(ledgers: LedgersOfDatabase): Layout {
  if (ledgers === 'one') {
    return {
      key: (columns) => sql.raw(`(${columns})`),
      seq: sql`seq integer primary key`,
      logKey: sql``,
      inKey: sql`without rowid`,
      end: sql``,
      text: sql`text`,
      bytes: sql`blob`,
    };
  }
  const byLedger = sql`partition by list (ledger)`;
  return {
    key: (columns) => sql.raw(`(ledger, ${columns})`),
    seq: sql`seq bigint not null`,
    logKey: sql`, primary key (ledger, seq)`,
    inKey: byLedger,
    end: byLedger,
    text: sql`text collate "C"`,
    bytes: sql`bytea`,
  };
}

async function createLog(db: Kysely<unknown>, layout: Layout): Promise<void> {
  const { key, seq, logKey, text, end } = layout;
  await sql`create table ledger_head (
    ledger ${text} primary key, seq bigint not null, hash ${text} not null, epoch bigint not null,
    incarnation ${text} not null)`.execute(db);
  await sql`create table event (
    ledger ${text} not null, ${seq}, id ${text} not null, type ${text} not null, task_id ${text}, run_id ${text},
    hash ${text} not null, text ${text} not null, unique ${key('id')}${logKey}) ${end}`.execute(db);
  await sql`create index event_by_task on event ${key('task_id, seq')} where task_id is not null`.execute(db);
  await sql`create index event_by_run on event ${key('run_id, seq')} where run_id is not null`.execute(db);
  await sql`create index event_settled on event ${key('seq, task_id')}
    where type in ('run.settled', 'run.closed_absent')`.execute(db);
}

async function createRecords(db: Kysely<unknown>, { key, inKey, text, end }: Layout): Promise<void> {
  await sql`create table run (
    ledger ${text} not null, run_id ${text} not null, task_id ${text} not null, first_seq bigint not null,
    is_open int not null, owes_run int not null, owes_patch int not null, owed_at ${text},
    project_id ${text} not null, project_owned int not null, record ${text} not null,
    primary key ${key('run_id')}) ${inKey}`.execute(db);
  await sql`create index run_by_task on run ${key('task_id, first_seq')}`.execute(db);
  await sql`create index run_open on run ${key('first_seq')} where is_open = 1`.execute(db);
  await sql`create index run_owing on run ${key('owed_at, task_id, owes_run, owes_patch')}
    where owed_at is not null`.execute(db);
  await sql`create index run_project on run ${key('project_id')} where project_owned = 1`.execute(db);
  await sql`create table invocation (
    ledger ${text} not null, invocation_id ${text} not null, task_id ${text} not null, first_seq bigint not null,
    is_pending int not null, is_owed int not null, requested_at ${text} not null, record ${text} not null,
    primary key ${key('invocation_id')}) ${end}`.execute(db);
  await sql`create index invocation_by_task on invocation ${key('task_id, first_seq')}`.execute(db);
  await sql`create index invocation_pending on invocation ${key('first_seq')} where is_pending = 1`.execute(
    db,
  );
  await sql`create index invocation_owed on invocation ${key('requested_at, task_id')} where is_owed = 1`.execute(
    db,
  );
  await sql`create table run_evidence (
    ledger ${text} not null, task_id ${text} not null, run_id ${text} not null, record ${text} not null,
    primary key ${key('task_id, run_id')}) ${inKey}`.execute(db);
  await sql`create index run_evidence_by_run on run_evidence ${key('run_id')}`.execute(db);
  await sql`create table task_facts (
    ledger ${text} not null, task_id ${text} not null, last_seq bigint not null, record ${text} not null,
    primary key ${key('task_id')}) ${inKey}`.execute(db);
  await sql`create table containment (
    ledger ${text} not null, run_id ${text} not null, is_open int not null, record ${text} not null,
    primary key ${key('run_id')}) ${inKey}`.execute(db);
  await sql`create index containment_open on containment ${key('run_id')} where is_open = 1`.execute(db);
}

async function createRows(db: Kysely<unknown>, { text, end }: Layout): Promise<void> {
  await sql`create table task_row (
    ledger ${text} not null, task_id ${text} not null, status ${text} not null, is_terminal int not null,
    version bigint not null, needs_check int not null, frozen ${text} not null, added ${text} not null, live ${text} not null,
    primary key (ledger, task_id)) ${end}`.execute(db);
  await sql`create index task_row_unchecked on task_row (ledger, task_id) where needs_check = 1 and is_terminal = 1`.execute(
    db,
  );
  await sql`create index task_row_by_status on task_row (ledger, status, task_id)`.execute(db);
  await sql`create table state_document (
    ledger ${text} not null, name ${text} not null, document ${text} not null, primary key (ledger, name)) ${end}`.execute(
    db,
  );
  await sql`create table leader (
    ledger ${text} not null, name ${text} not null, holder ${text} not null, fence bigint not null, expires_at_ms bigint not null,
    primary key (ledger, name)) ${end}`.execute(db);
}

async function createManaged(db: Kysely<unknown>, { text, end }: Layout): Promise<void> {
  await sql`create table managed_task (
    ledger ${text} not null, task_id ${text} not null, status ${text} not null, priority bigint not null, created_seq bigint not null,
    record ${text} not null, primary key (ledger, task_id)) ${end}`.execute(db);
  await sql`create index managed_task_ready on managed_task (ledger, priority desc, created_seq) where status = 'ready'`.execute(
    db,
  );
  await sql`create index managed_task_running on managed_task (ledger, task_id) where status = 'running'`.execute(
    db,
  );
  await sql`create table task_link (
    ledger ${text} not null, parent_id ${text} not null, child_id ${text} not null, primary key (ledger, parent_id, child_id)) ${end}`.execute(
    db,
  );
  await sql`create table lease (
    ledger ${text} not null, task_id ${text} not null, run_id ${text} not null, fence bigint not null, holder ${text} not null, ttl_ms bigint not null,
    is_open int not null, started_at_ms bigint not null, expires_at_ms bigint not null, heartbeat_at_ms bigint, process ${text},
    primary key (ledger, task_id)) ${end}`.execute(db);
  await sql`create index lease_open on lease (ledger, expires_at_ms) where is_open = 1`.execute(db);
  await sql`create table submission (
    ledger ${text} not null, idempotency_key ${text} not null, task_id ${text} not null, run_id ${text} not null, seq bigint not null, value ${text} not null,
    primary key (ledger, idempotency_key)) ${end}`.execute(db);
  await sql`create table question (
    ledger ${text} not null, question_id ${text} not null, task_id ${text} not null, asked_seq bigint not null,
    is_open int not null, is_owed int not null, record ${text} not null, primary key (ledger, question_id)) ${end}`.execute(
    db,
  );
  await sql`create index question_by_task on question (ledger, task_id, asked_seq)`.execute(db);
  await sql`create index question_owed on question (ledger, task_id, asked_seq) where is_owed = 1`.execute(
    db,
  );
  await sql`create index question_open on question (ledger, asked_seq) where is_open = 1`.execute(db);
}

import type { Kysely } from 'kysely';
import { sql } from 'kysely';

/** The tables of the first schema. Order of columns in keys: the ledger first, so that every scan stays inside one. */
export async function createLedgerTables(db: Kysely<unknown>): Promise<void> {
  await createLog(db);
  await createRecords(db);
  await createRows(db);
  await createManaged(db);
}

async function createLog(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('ledger_head')
    .addColumn('ledger', 'text', (column) => column.primaryKey())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('epoch', 'bigint', (column) => column.notNull())
    .addColumn('incarnation', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('event')
    .addColumn('ledger', 'text', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('task_id', 'text')
    .addColumn('run_id', 'text')
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('event_pk', ['ledger', 'seq'])
    .addUniqueConstraint('event_id_is_unique', ['ledger', 'id'])
    .execute();
  await sql`create index event_by_task on event (ledger, task_id, seq) where task_id is not null`.execute(db);
  await sql`create index event_by_run on event (ledger, run_id, seq) where run_id is not null`.execute(db);
  await sql`create index event_settled on event (ledger, seq, task_id)
    where type in ('run.settled', 'run.closed_absent')`.execute(db);
}

async function createRecords(db: Kysely<unknown>): Promise<void> {
  await sql`create table run (
    ledger text not null, run_id text not null, task_id text not null, first_seq bigint not null,
    is_open int not null, owes_run int not null, owes_patch int not null, owed_at text,
    project_id text not null, project_owned int not null, record text not null,
    primary key (ledger, run_id))`.execute(db);
  await sql`create index run_by_task on run (ledger, task_id, first_seq)`.execute(db);
  await sql`create index run_open on run (ledger, first_seq) where is_open = 1`.execute(db);
  await sql`create index run_owing on run (ledger, owed_at, task_id, owes_run, owes_patch) where owed_at is not null`.execute(
    db,
  );
  await sql`create index run_project on run (ledger, project_id) where project_owned = 1`.execute(db);
  await sql`create table invocation (
    ledger text not null, invocation_id text not null, task_id text not null, first_seq bigint not null,
    is_pending int not null, is_owed int not null, requested_at text not null, record text not null,
    primary key (ledger, invocation_id))`.execute(db);
  await sql`create index invocation_by_task on invocation (ledger, task_id, first_seq)`.execute(db);
  await sql`create index invocation_pending on invocation (ledger, first_seq) where is_pending = 1`.execute(
    db,
  );
  await sql`create index invocation_owed on invocation (ledger, requested_at, task_id) where is_owed = 1`.execute(
    db,
  );
  await sql`create table run_evidence (
    ledger text not null, task_id text not null, run_id text not null, record text not null,
    primary key (ledger, task_id, run_id))`.execute(db);
  await sql`create index run_evidence_by_run on run_evidence (ledger, run_id)`.execute(db);
  await sql`create table task_facts (
    ledger text not null, task_id text not null, last_seq bigint not null, record text not null,
    primary key (ledger, task_id))`.execute(db);
  await sql`create table containment (
    ledger text not null, run_id text not null, is_open int not null, record text not null,
    primary key (ledger, run_id))`.execute(db);
  await sql`create index containment_open on containment (ledger, run_id) where is_open = 1`.execute(db);
}

async function createRows(db: Kysely<unknown>): Promise<void> {
  await sql`create table task_row (
    ledger text not null, task_id text not null, status text not null, is_terminal int not null,
    version bigint not null, needs_check int not null, frozen text not null, added text not null, live text not null,
    primary key (ledger, task_id))`.execute(db);
  await sql`create index task_row_unchecked on task_row (ledger, task_id) where needs_check = 1 and is_terminal = 1`.execute(
    db,
  );
  await sql`create index task_row_by_status on task_row (ledger, status, task_id)`.execute(db);
  await sql`create table state_document (
    ledger text not null, name text not null, document text not null, primary key (ledger, name))`.execute(
    db,
  );
  await sql`create table leader (
    ledger text not null, name text not null, holder text not null, fence bigint not null, expires_at_ms bigint not null,
    primary key (ledger, name))`.execute(db);
}

async function createManaged(db: Kysely<unknown>): Promise<void> {
  await sql`create table managed_task (
    ledger text not null, task_id text not null, status text not null, priority bigint not null, created_seq bigint not null,
    record text not null, primary key (ledger, task_id))`.execute(db);
  await sql`create index managed_task_ready on managed_task (ledger, priority desc, created_seq) where status = 'ready'`.execute(
    db,
  );
  await sql`create index managed_task_running on managed_task (ledger, task_id) where status = 'running'`.execute(
    db,
  );
  await sql`create table task_link (
    ledger text not null, parent_id text not null, child_id text not null, primary key (ledger, parent_id, child_id))`.execute(
    db,
  );
  await sql`create table lease (
    ledger text not null, task_id text not null, run_id text not null, fence bigint not null, holder text not null, ttl_ms bigint not null,
    is_open int not null, started_at_ms bigint not null, expires_at_ms bigint not null, heartbeat_at_ms bigint, process text,
    primary key (ledger, task_id))`.execute(db);
  await sql`create index lease_open on lease (ledger, expires_at_ms) where is_open = 1`.execute(db);
  await sql`create table submission (
    ledger text not null, idempotency_key text not null, task_id text not null, run_id text not null, seq bigint not null, value text not null,
    primary key (ledger, idempotency_key))`.execute(db);
  await sql`create table question (
    ledger text not null, question_id text not null, task_id text not null, asked_seq bigint not null,
    is_open int not null, is_owed int not null, record text not null, primary key (ledger, question_id))`.execute(
    db,
  );
  await sql`create index question_by_task on question (ledger, task_id, asked_seq)`.execute(db);
  await sql`create index question_owed on question (ledger, task_id, asked_seq) where is_owed = 1`.execute(
    db,
  );
  await sql`create index question_open on question (ledger, asked_seq) where is_open = 1`.execute(db);
}

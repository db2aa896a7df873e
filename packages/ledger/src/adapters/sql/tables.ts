import type { Kysely, Transaction } from 'kysely';
import type { LedgersOfDatabase } from './migrations/0001-ledger.ts';

/** Tables of a ledger in a SQL database. Every table is keyed by the ledger first: ledgers never mix. */
export interface Tables {
  ledger_head: { ledger: string; seq: number; hash: string; epoch: number; incarnation: string };
  event: {
    ledger: string;
    seq: number;
    id: string;
    type: string;
    task_id: string | null;
    run_id: string | null;
    hash: string;
    /** Everything of the event but `hash`, byte for byte. */
    text: string;
  };
  run: {
    ledger: string;
    run_id: string;
    task_id: string;
    first_seq: number;
    is_open: number;
    owes_run: number;
    owes_patch: number;
    owed_at: string | null;
    project_id: string;
    project_owned: number;
    /** The {@link RunRecord} as JSON. */
    record: string;
  };
  invocation: {
    ledger: string;
    invocation_id: string;
    task_id: string;
    first_seq: number;
    is_pending: number;
    is_owed: number;
    requested_at: string;
    record: string;
  };
  run_evidence: { ledger: string; task_id: string; run_id: string; record: string };
  task_facts: { ledger: string; task_id: string; last_seq: number; record: string };
  containment: { ledger: string; run_id: string; is_open: number; record: string };
  task_row: {
    ledger: string;
    task_id: string;
    status: string;
    is_terminal: number;
    version: number;
    needs_check: number;
    /** JSON text that no one may change once the row is terminal. */
    frozen: string;
    /** JSON text of fields that came after the terminal write. */
    added: string;
    /** JSON text of the reconciler's fields. */
    live: string;
  };
  /** Managed tasks; the {@link ManagedTask} as JSON, and beside it what queries ask for. */
  managed_task: {
    ledger: string;
    task_id: string;
    status: string;
    priority: number;
    created_seq: number;
    record: string;
  };
  /** Who waits for whom. */
  task_link: { ledger: string; parent_id: string; child_id: string };
  /** Who holds a task. A row is never deleted: it keeps the fence. */
  lease: {
    ledger: string;
    task_id: string;
    run_id: string;
    fence: number;
    holder: string;
    ttl_ms: number;
    is_open: number;
    started_at_ms: number;
    expires_at_ms: number;
    heartbeat_at_ms: number | null;
    process: string | null;
  };
  /** What was handed in, by idempotency key. */
  submission: {
    ledger: string;
    idempotency_key: string;
    task_id: string;
    run_id: string;
    seq: number;
    value: string;
  };
  /** What runs asked; the {@link Question} as JSON, and beside it what queries ask for. */
  question: {
    ledger: string;
    question_id: string;
    task_id: string;
    asked_seq: number;
    /** 1 while nobody has answered. */
    is_open: number;
    /** 1 until the verdict has reached a run. */
    is_owed: number;
    record: string;
  };
  /** Documents of clients of a served ledger, by id. */
  served_record: { ledger: string; record_id: string; body: Uint8Array; sha256: string };
  state_document: { ledger: string; name: string; document: string };
  leader: { ledger: string; name: string; holder: string; fence: number; expires_at_ms: number };
}

/** A database with our tables, or a transaction on it. */
export type Db = Kysely<Tables> | Transaction<Tables>;

/** What differs between the databases, by name. */
export interface SqlDialectFlags {
  /** How a list of keys is bound as one parameter, so that one prepared statement serves every length. */
  readonly keyList: 'json_each' | 'any_array';
  /** Whether the keys of the tables that follow from the log begin with the ledger. */
  readonly ledgers: LedgersOfDatabase;
  /** Whether a connection takes statements while earlier ones are not answered yet. @default 'in_turn' */
  readonly statements?: 'in_turn' | 'sent_ahead';
  /** Where a table is, as a statement that is written by hand names it. @default its own name */
  readonly placeOf?: (table: keyof Tables) => string;
}

/** One ledger in one database. */
export interface SqlContext {
  /** Takes the write lock when its transaction begins. */
  readonly writer: Kysely<Tables>;
  /** Reads a consistent snapshot in a transaction and never waits for the writer. */
  readonly reader: Kysely<Tables>;
  readonly ledger: string;
  readonly flags: SqlDialectFlags;
}

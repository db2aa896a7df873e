import type { Clock } from './clock.ts';
import type { CustodyReader } from './custody-reader.ts';
import type { EventStore, Head } from './event-store.ts';
import type { LeaderStore } from './leader-store.ts';
import type { ManagedStore } from './managed-store.ts';
import type { RecordStore } from './record-store.ts';
import type { ReplicaReader } from './replica-reader.ts';
import type { SettleScan, StateStore } from './settle-scan.ts';
import type { OwnTaskRows } from './task-rows.ts';

/** One thing that `verify` found wrong. */
export interface VerifyProblem {
  readonly code: string;
  readonly message: string;
  readonly seq?: number;
  readonly line?: number;
  readonly task_id?: string;
  readonly file?: string;
}

/** What `verify` found. */
export interface VerifyReport {
  readonly ok: boolean;
  readonly events: number;
  readonly head_seq: number;
  readonly head_hash: string;
  readonly problems: readonly VerifyProblem[];
  /** Things worth knowing that are no faults: torn lines that were kept, verdicts that were ignored. */
  readonly notes: readonly VerifyProblem[];
}

/** What a store is asked for when it is verified. */
export interface VerifyOptions {
  /** Also replays the log and compares every table with it. */
  readonly rebuild?: boolean;
  /** A head known from elsewhere; the log must still contain it. */
  readonly expectHead?: Pick<Head, 'seq' | 'hash'>;
}

/** One ledger in one place. Every adapter returns this; nothing above it knows which one it has. */
export interface LedgerStore {
  readonly kind: 'memory' | 'sqlite' | 'jsonl' | 'postgres';
  readonly url: string;
  /** True if opening made the store. */
  readonly created: boolean;
  readonly schemaVersion: number;
  /** The store's own time; absent where that is the host's. */
  readonly clock?: Clock;
  readonly events: EventStore;
  readonly custody: CustodyReader;
  readonly rows: OwnTaskRows;
  readonly scan: SettleScan;
  readonly state: StateStore;
  readonly leaders: LeaderStore;
  /** Absent on stores that only observe. */
  readonly managed?: ManagedStore;
  /** Absent on stores that only observe. */
  readonly records?: RecordStore;
  /** Absent on stores without a data root, which no relative drive could start at. */
  readonly replicas?: ReplicaReader;
  /** Reads only: repairs, creates and migrates nothing. */
  verify(options: VerifyOptions): Promise<VerifyReport>;
  close(): Promise<void>;
}

import type { AppendRequest } from '../core/append-plan.ts';
import type { AppendResult } from '../core/append-result.ts';
import type { Checkpoint } from '../core/checkpoint.ts';
import type { FailoverNodes } from '../core/managed/epoch-record.ts';
import type { EventWriter } from '../core/parse-event.ts';
import { parseNewEvent } from '../core/parse-event.ts';
import type { NewEvent, StoredEvent } from '../core/recorded-event.ts';
import { StoreError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { CommitSignal } from '../ports/commit-signal.ts';
import type { CustodyReader } from '../ports/custody-reader.ts';
import type { EventQuery, Head } from '../ports/event-store.ts';
import type { LeaderStore } from '../ports/leader-store.ts';
import type { LedgerStore, VerifyOptions, VerifyReport } from '../ports/ledger-store.ts';
import type { ManagedStore, RaisedEpoch } from '../ports/managed-store.ts';
import type { ProcessControl } from '../ports/process-control.ts';
import type { RecordStore } from '../ports/record-store.ts';
import type { ReplicaReader } from '../ports/replica-reader.ts';
import type { SettleScan, StateStore } from '../ports/settle-scan.ts';
import type { OwnTaskRows } from '../ports/task-rows.ts';
import { idArgument } from './arguments.ts';
import { GroupCommit } from './group-commit.ts';
import type { ManagedLeases } from './managed-leases.ts';
import { managedLeases } from './managed-leases.ts';
import type { ManagedQuestions } from './managed-questions.ts';
import { managedQuestions } from './managed-questions.ts';
import type { ManagedRuns } from './managed-runs.ts';
import { managedRuns } from './managed-runs.ts';
import type { ManagedTasks } from './managed-tasks.ts';
import { managedTasks } from './managed-tasks.ts';
import { onceStore } from './once-store.ts';
import { recordsOf } from './records.ts';
import type { CheckpointOptions } from './take-checkpoint.ts';
import { takeCheckpoint } from './take-checkpoint.ts';
import { unsupportedManaged } from './unsupported-managed.ts';
import type { CheckpointProof } from './verify-checkpoint.ts';
import { verifyCheckpoint } from './verify-checkpoint.ts';
import type { Waits } from './waits.ts';
import { waitsOn } from './waits.ts';

/** Commands on managed tasks. */
export interface ManagedCommands {
  /** Commands of operators on managed tasks. */
  readonly tasks: ManagedTasks;
  /** Commands of holders of managed tasks. */
  readonly runs: ManagedRuns;
  /** Questions of runs, their verdicts, and how those reach runs. */
  readonly questions: ManagedQuestions;
  /** What a sweep does with the leases of managed tasks. */
  readonly leases: ManagedLeases;
}

/** An open ledger: the append-only log, what follows from it, and the task rows beside it. */
export interface Ledger extends AsyncDisposable, ManagedCommands, Waits {
  readonly kind: LedgerStore['kind'];
  readonly url: string;
  /** True if opening it made the store. */
  readonly created: boolean;
  readonly schemaVersion: number;
  readonly clock: Clock;
  readonly custody: CustodyReader;
  readonly rows: OwnTaskRows;
  readonly scan: SettleScan;
  readonly state: StateStore;
  readonly leaders: LeaderStore;
  /**
   * Documents of clients of a served ledger, beside the log; a store that only observes refuses each call with
   * `not_supported`, as an id or a text that can't be kept is refused with `invalid_option`.
   */
  readonly records: RecordStore;
  /** Copies of rows on children's drives; null on stores without a data root. */
  readonly replicas: ReplicaReader | null;
  /** Tells of commits, also of those in other processes; null on stores that only observe. */
  readonly commits: CommitSignal | null;
  /** Whether the store keeps managed tasks; on others every command of theirs is refused with `not_supported`. */
  readonly managesTasks: boolean;
  /**
   * Commands for one request that may be made again, because its answer may get lost: the first command that is
   * asked for here is carried out once under the id, however often and through whichever handle. One made again
   * answers what is the case now, and writes nothing. The id is unique in the ledger, as ids of events are.
   */
  once(requestId: string): ManagedCommands;
  /**
   * Makes this handle the only writer: the next epoch begins, and every open lease gets a new fence that only
   * its holder is told. The document `EPOCH_DOCUMENT` says which nodes a failover was between.
   *
   * @throws StaleEpochError if another handle raised it first; nothing was written.
   */
  raiseEpoch(reason: string, failover?: FailoverNodes): Promise<RaisedEpoch>;
  /**
   * Appends events, all or none, and returns once they are durable. An event whose id is known with the same
   * content is a counted duplicate.
   *
   * @throws InvalidEventError naming the event, the field and the reason.
   * @throws BusyError if another process held the lock for too long; nothing was written.
   */
  append(events: readonly NewEvent[], options?: { readonly writer?: EventWriter }): Promise<AppendResult>;
  /**
   * Appends events that another log already accepted: they are not judged again, and keep their place and hash
   * where they continue this chain.
   */
  appendAccepted(request: Omit<AppendRequest, 'accepted'>): Promise<AppendResult>;
  /** Streams events in the order of `seq`. */
  read(query?: EventQuery): AsyncIterable<StoredEvent>;
  head(): Promise<Head>;
  /**
   * Checks the log, with `rebuild` every table against a replay, and with `proof` everything against a signed
   * checkpoint. Changes nothing.
   *
   * @throws CheckpointError `invalid_key` for a public key that is none.
   */
  verify(options?: VerifyOptions & { readonly proof?: CheckpointProof }): Promise<VerifyReport>;
  /**
   * Signs where the log stands. Keep what it returns where whoever can write the store can't; nothing is written
   * here until {@link recordCheckpoint}.
   *
   * @throws CheckpointError `invalid_key`.
   */
  takeCheckpoint(options: CheckpointOptions): Promise<Checkpoint>;
  /** Notes a checkpoint in the log, once it is kept elsewhere; the note is a copy, the kept one counts. */
  recordCheckpoint(checkpoint: Checkpoint): Promise<AppendResult>;
  close(): Promise<void>;
}

/** Adds what a checkpoint says. A log that is damaged has been told of; how much of it can be read is left open. */
async function withProof(
  store: LedgerStore,
  report: VerifyReport,
  proof: CheckpointProof,
): Promise<VerifyReport> {
  try {
    const problems = [...report.problems, ...(await verifyCheckpoint(store, proof))];
    return { ...report, ok: problems.length === 0, problems };
  } catch (error) {
    if (report.ok || !(error instanceof StoreError)) throw error;
    return report;
  }
}

/** Builds a ledger over a store. */
export function createLedger(store: LedgerStore, clock: Clock, processes: ProcessControl): Ledger {
  const managed = store.managed ?? unsupportedManaged(store);
  const commandsOn = (on: ManagedStore): ManagedCommands => ({
    tasks: managedTasks(on),
    runs: managedRuns({ store: on, custody: store.custody, processes }),
    questions: managedQuestions(on),
    leases: managedLeases(on, processes),
  });
  const commands = commandsOn(managed);
  const commits = new GroupCommit(store.events);
  return {
    kind: store.kind,
    url: store.url,
    created: store.created,
    schemaVersion: store.schemaVersion,
    clock,
    custody: store.custody,
    rows: store.rows,
    scan: store.scan,
    state: store.state,
    leaders: store.leaders,
    records: recordsOf(store),
    replicas: store.replicas ?? null,
    commits: store.managed?.commits ?? null,
    managesTasks: store.managed !== undefined,
    ...commands,
    ...waitsOn(managed, commands.runs),
    once: (requestId) => commandsOn(onceStore(managed, idArgument('request_id', requestId))),
    raiseEpoch: (reason, failover) => managed.raiseEpoch(reason, failover),
    append: async (events, options = {}) => {
      const parsed = events.map((event, index) => parseNewEvent(event, index, options.writer ?? 'anyone'));
      return commits.append({ events: parsed });
    },
    appendAccepted: (request) => commits.append({ ...request, accepted: true }),
    read: (query = {}) => store.events.read(query),
    head: () => store.events.head(),
    verify: async ({ proof, ...options } = {}) => {
      const report = await store.verify(options);
      // A log that can't be read has been told of, and nothing can be held against it.
      if (proof === undefined || report.problems.some(({ code }) => code === 'log_unreadable')) return report;
      return withProof(store, report, proof);
    },
    takeCheckpoint: (options) => takeCheckpoint(store, clock, options),
    recordCheckpoint: (checkpoint) => {
      const event = { type: 'ledger.checkpoint', checkpoint: { ...checkpoint } };
      return commits.append({ events: [parseNewEvent(event, 0, 'ledger')] });
    },
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

export type { JournalSeam } from './adapters/journal/disk-journal-files.ts';
export { diskJournalFiles } from './adapters/journal/disk-journal-files.ts';
export type { MemoryPlace } from './adapters/memory/memory-store.ts';
export { memoryPlace } from './adapters/memory/memory-store.ts';
export { hasLivingMember, signalTarget } from './adapters/process/process-group.ts';
export type { PidEntry } from './adapters/process/process-table.ts';
export { identifyProcess, readHost, readPidEntry } from './adapters/process/process-table.ts';
export type { BackUpDone, BackUpOptions, BackUpRefused } from './back-up.ts';
export { backUp } from './back-up.ts';
export type { AppendRequest, PlacedEvent } from './core/append-plan.ts';
export type { AppendResult } from './core/append-result.ts';
export type { Checkpoint, CheckpointClaims } from './core/checkpoint.ts';
export { parseCheckpoint } from './core/checkpoint.ts';
export type { ContainmentRecord } from './core/containment.ts';
export { boundDetail, isFaultOpen } from './core/containment.ts';
export { CustodyFold } from './core/custody-fold.ts';
export type { ReplicaLookup, RowLookup } from './core/effective-row.ts';
export { childDrivesOf, effectiveRow } from './core/effective-row.ts';
export { chainHash, GENESIS_HASH } from './core/event-hash.ts';
export { EVENT_SCHEMAS } from './core/event-schema.ts';
export type { EventType } from './core/event-types.ts';

export { EVENT_TYPES, isKnownType } from './core/event-types.ts';
export { frameHandoff, handoffOf } from './core/handoff.ts';
export { isId } from './core/ids.ts';
export type { InvocationRecord } from './core/invocation.ts';
export { invocationState, isPending, isPersistentInvocation, isReviewInvocation } from './core/invocation.ts';
export type { JsonObject, JsonValue } from './core/json.ts';
export { compareCodePoints, isJsonObject, isSameJson, textOf, textsOf } from './core/json.ts';
export type { WorkerExit } from './core/managed/decide-exit.ts';
export type { SeenRun } from './core/managed/decide-release.ts';
export type { Refusal, RefusalReason } from './core/managed/decision.ts';
export type { EpochRecord, FailoverNodes } from './core/managed/epoch-record.ts';
export { EPOCH_DOCUMENT, parseEpoch } from './core/managed/epoch-record.ts';
export type { FieldOrigin } from './core/managed/field-origins.ts';
export { fieldOrigins } from './core/managed/field-origins.ts';
export { closingOutcome, isManagedEvent, isManagedType } from './core/managed/managed-event.ts';
export type {
  Attempt,
  BlockKind,
  Lease,
  ManagedTask,
  ProcessIdentity,
  RunOutcome,
  TaskStatus,
} from './core/managed/managed-task.ts';
export { BLOCK_KINDS, RUN_OUTCOMES } from './core/managed/managed-task.ts';
export type { HostIdentity } from './core/managed/process-state.ts';
export type { ManagedSettings } from './core/managed/scope.ts';
export { DEFAULT_SETTINGS } from './core/managed/scope.ts';
export { parseSettings, SETTINGS_DOCUMENT } from './core/managed/settings.ts';
export { noticeOf } from './core/notice.ts';
export type { TaskCustody, TerminalReceipt } from './core/obligations.ts';
export {
  deferredProjectRetirements,
  evidenceOf,
  isOpen,
  isOutputUnread,
  isPatchOwed,
  isRegistrationOwned,
  openAttemptIds,
  openRunIds,
  pendingInvocationIds,
  terminalReceipts,
  undisposedPatchRunIds,
} from './core/obligations.ts';
export { parseNewEvent } from './core/parse-event.ts';
export type { ProcessStat } from './core/process-stat.ts';
export { isProcessEnded, parseProcessStat } from './core/process-stat.ts';
export type { Delivery, DeliveryMode, Question } from './core/questions/question.ts';
export { parseRawObject, printRawObject } from './core/raw-json.ts';
export type { NewEvent, RecordedEvent, StoredEvent } from './core/recorded-event.ts';
export { splitPrintedLine, toPrintedLine } from './core/recorded-event.ts';
export type { ExecutionEvidence, Substrate } from './core/run-evidence.ts';
export { COUNTERS, substrateOf, toEvidenceJson } from './core/run-evidence.ts';
export type { RunRecord } from './core/run-record.ts';
export { factOf, isReviewOwned } from './core/run-record.ts';
export type { JsonlDialect, StoreLocation } from './core/store-url.ts';
export { parseStoreUrl } from './core/store-url.ts';
export { taskCustodyOf } from './core/task-custody.ts';
export type { LiveFields, RowMerge, TaskRow } from './core/task-row.ts';
export {
  isTerminalStatus,
  joinRow,
  LIVE_ENVELOPE_KEYS,
  LIVE_KEYS,
  mergeRow,
  parseTaskRow,
  printTaskRow,
  splitRow,
  toTaskRow,
  withLiveFields,
} from './core/task-row.ts';
export { normalizeTime, toEpochMillis } from './core/time.ts';
export type { CheckpointErrorCode, InvalidEventCode, RemoteErrorCode, StoreErrorCode } from './errors.ts';
export {
  BusyError,
  CheckpointError,
  InvalidEventError,
  InvalidRowError,
  JournalError,
  LedgerError,
  RemoteError,
  RowFrozenError,
  StaleEpochError,
  StoreError,
  UsageError,
} from './errors.ts';
export type { FoldedLog } from './fold-log.ts';
export { foldLog } from './fold-log.ts';
export type { ImportOptions, ImportProblem, ImportProgress, ImportResult } from './import/import-result.ts';
export { importInto } from './import-events.ts';
export type { LedgerPlace } from './list-ledgers.ts';
export { listLedgers } from './list-ledgers.ts';
export type { OpenJournalsOptions } from './open-journals.ts';
export { openJournals } from './open-journals.ts';
export type { OpenLedgerOptions } from './open-ledger.ts';
export { openLedger, openStore } from './open-ledger.ts';
export type { Past, PastCut } from './open-past.ts';
export { openPast } from './open-past.ts';
export type { Clock, NewId } from './ports/clock.ts';
export type { CommitSignal } from './ports/commit-signal.ts';
export type { CustodyDebts, CustodyReader, CustodyTotals } from './ports/custody-reader.ts';
export type { AppendOutcome, EventQuery, EventStore, Head } from './ports/event-store.ts';
export type { JournalFiles } from './ports/journal-files.ts';
export type { LeaderStore, Leadership } from './ports/leader-store.ts';
export type { LedgerStore, VerifyOptions, VerifyProblem, VerifyReport } from './ports/ledger-store.ts';
export type { QuestionFilter, RaisedEpoch } from './ports/managed-store.ts';
export type { ProcessControl, ProcessState } from './ports/process-control.ts';
export type { RecordStore } from './ports/record-store.ts';
export type { ReplicaReader } from './ports/replica-reader.ts';
export type { SettleScan, SettleScanResult, StateStore } from './ports/settle-scan.ts';
export type {
  ConfirmedRow,
  LoadedRow,
  OwnTaskRows,
  RowProblem,
  RowPutResult,
  RowUpdate,
  RowUpdateResult,
  TaskRows,
} from './ports/task-rows.ts';
export type { Claim, Claimed, NothingClaimed } from './shell/claim-task.ts';
export type { HeldRun } from './shell/held-run.ts';
export type { JournalEntry, Journals, RecoveryReport } from './shell/journals.ts';
export type { Ledger, ManagedCommands } from './shell/ledger.ts';
export { createLedger } from './shell/ledger.ts';
export type { RunReport } from './shell/list-runs.ts';
export { toRunReport } from './shell/list-runs.ts';
export type { ManagedLeases, Requeued, RunningTask } from './shell/managed-leases.ts';
export type {
  Acknowledged,
  Answered,
  Asked,
  AskingRuns,
  ManagedQuestions,
  OfferedVerdict,
  Parked,
  QuestionToAsk,
  QuestionToParkOn,
} from './shell/managed-questions.ts';
export type {
  HeldTask,
  ManagedRuns,
  RunCompleted,
  RunCompletion,
} from './shell/managed-runs.ts';
export type { ManagedTasks, NewChild, NewTask, OperatorCompleted, TaskDone } from './shell/managed-tasks.ts';
export { readEffectiveRow } from './shell/read-effective-row.ts';
export type { Reclaimed } from './shell/reclaim-run.ts';
export type { RecoveredFile } from './shell/recover-journal.ts';
export type { CheckpointOptions } from './shell/take-checkpoint.ts';
export type { CheckpointProof } from './shell/verify-checkpoint.ts';
export type { Waits } from './shell/waits.ts';

export { fileRequestBodies } from './adapters/file-request-bodies.ts';
export type { HttpGatewayOptions } from './adapters/http-gateway.ts';
export { httpGateway } from './adapters/http-gateway.ts';
export { noGateway } from './adapters/no-gateway.ts';
export type { ProcessGatewayOptions } from './adapters/process-gateway.ts';
export { processGateway } from './adapters/process-gateway.ts';
export type { Audit, AuditFailure, AuditSource, FailedAudit, GoodAudit, Trigger } from './core/audit.ts';
export { audit, auditSource, evidenceEvent } from './core/audit.ts';
export { isDisclosed } from './core/disclosure.ts';
export { parseDuration } from './core/duration.ts';
export { mayStillBeLive } from './core/owner-message.ts';
export type { OwnerVerdict } from './core/owner-verdict.ts';
export { mayStop, ownerVerdict } from './core/owner-verdict.ts';
export type { PlanEntry } from './core/plan-hash.ts';
export type { Heal, HealInput, HealPlan } from './core/plan-heal.ts';
export { planHeal } from './core/plan-heal.ts';
export { toProcessIdentity } from './core/process-identity.ts';
export type { ReconcileAction, ReconcileOutcome } from './core/reconcile-outcome.ts';
export type {
  BackfillReport,
  ClearReport,
  FailedTask,
  OrphanOutcome,
  PassOptions,
  PlanChanged,
  SweepReport,
} from './core/reports.ts';
export type { Ownership } from './core/run-ownership.ts';
export { ownershipOf } from './core/run-ownership.ts';
export { isEvidenceStale } from './core/stale-evidence.ts';
export type { StartAnswer, StartRefusal } from './core/start-answer.ts';
export type { Submission } from './core/submission.ts';
export { toSubmission } from './core/submission.ts';
export type { EndedState, TerminalDetail } from './core/terminal-detail.ts';
export { ENDED_STATES } from './core/terminal-detail.ts';
export type { CostEntry, CostLedger } from './ports/cost-ledger.ts';
export type { LiveTaskIds } from './ports/live-tasks.ts';
export type { Locked, NamedLocks } from './ports/named-locks.ts';
export type { PassLog } from './ports/pass-log.ts';
export type { PatchCapture } from './ports/patch-capture.ts';
export type { RequestBodies } from './ports/request-bodies.ts';
export type {
  CancelAnswer,
  RunGateway,
  RunGatewayFactory,
  RunLookup,
  SubmitAnswer,
} from './ports/run-gateway.ts';
export type { Wait } from './ports/timer.ts';
export type { Reconciler, ReconcilerOptions, RunOptions } from './reconciler.ts';
export { createReconciler } from './reconciler.ts';
export type { AuditedLedger, AuditReport, TaskAudit } from './shell/audit-tasks.ts';
export { auditedLedger, auditTasks } from './shell/audit-tasks.ts';
export type { CancelOutcome, CancelReport } from './shell/cancel-run.ts';
export { cancelAndVerify } from './shell/cancel-run.ts';
export { inProcessLocks } from './shell/in-process-locks.ts';
export type {
  BoundaryAudit,
  BoundaryOptions,
  BoundaryRecord,
  BoundaryTrigger,
  EndOfTask,
  EndWritten,
} from './shell/kill-audit.ts';
export { auditBoundary, auditLoopExit, recordBoundary, writeEnd } from './shell/kill-audit.ts';
export type { OrphanPass, OrphanPassSetup, SettlePorts } from './shell/orphan-context.ts';
export { openOrphanPass } from './shell/orphan-context.ts';
export type { GatewayOptions, Idleness, OrphanOptions, OrphanReport } from './shell/reconcile-orphans.ts';
export { listOrphans, reconcileOrphans, reconcileTaskRuns } from './shell/reconcile-orphans.ts';
export type { SettleAnswer } from './shell/settle-run.ts';
export { settleRun } from './shell/settle-run.ts';
export type { RetryRequest, Starter, StarterPorts, StartRequest } from './shell/start-run.ts';
export { createStarter } from './shell/start-run.ts';
export type { Stats } from './shell/stats.ts';

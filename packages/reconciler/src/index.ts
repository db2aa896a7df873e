export { createReconciler } from './reconciler.ts';
export type { Reconciler, ReconcilerOptions, RunOptions } from './reconciler.ts';

export type { BackfillReport, ClearReport, FailedTask, OrphanOutcome, PassOptions, PlanChanged, SweepReport } from './core/reports.ts';
export type { PlanEntry } from './core/plan-hash.ts';
export { audit, auditSource, evidenceEvent } from './core/audit.ts';
export type { Audit, AuditFailure, AuditSource, FailedAudit, GoodAudit, Trigger } from './core/audit.ts';
export { planHeal } from './core/plan-heal.ts';
export type { Heal, HealInput, HealPlan } from './core/plan-heal.ts';
export { isEvidenceStale } from './core/stale-evidence.ts';
export { isDisclosed } from './core/disclosure.ts';
export { parseDuration } from './core/duration.ts';
export type { AuditReport, TaskAudit } from './shell/audit-tasks.ts';
export type { Stats } from './shell/stats.ts';
export type { LiveTaskIds } from './ports/live-tasks.ts';
export type { PassLog } from './ports/pass-log.ts';
export type { Wait } from './ports/timer.ts';

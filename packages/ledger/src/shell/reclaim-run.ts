import { decideDefer, decideReclaim, decideReclaimable } from '../core/managed/decide-release.ts';
import type { Refusal } from '../core/managed/decision.ts';
import type { ManagedStore } from '../ports/managed-store.ts';
import type { ProcessControl } from '../ports/process-control.ts';
import { terminateWorker } from './terminate-worker.ts';

/** A task was taken away from the run that held it. */
export interface Reclaimed {
  readonly outcome: 'reclaimed';
  readonly task_id: string;
  readonly run_id: string;
  readonly status: 'ready';
}

/**
 * Takes a task away from exactly one run. Whether it is still that run is asked before anything is signalled,
 * and again in the transaction that writes: the wait for the worker in between is long enough for anything.
 * A worker that survives keeps the task, for a while.
 */
export async function reclaimRun(
  store: ManagedStore,
  processes: ProcessControl,
  command: { readonly taskId: string; readonly runId: string; readonly reason: string | null },
): Promise<Reclaimed | Refusal> {
  const request = { taskIds: [command.taskId], runId: command.runId, effect: ['claim.reclaimed'] };
  const seen = await store.decide(request, (scope) => decideReclaimable(scope, command));
  if (seen.outcome === 'refused') return seen.refusal;
  const done = {
    outcome: 'reclaimed',
    task_id: command.taskId,
    run_id: command.runId,
    status: 'ready',
  } as const;
  if (seen.repeats !== undefined) return done;
  const lease = seen.after.leaseOf(command.taskId);
  if (lease === null) throw new Error(`the store gives ${command.taskId} no lease although it runs`);
  const held = { taskId: command.taskId, runId: command.runId, fence: lease.fence };
  const { report, survived } = await terminateWorker(processes, lease.process);
  if (survived) {
    const deferral = { ...held, reason: 'manual_reclaim_worker_alive', termination: report };
    const deferred = await store.decide({ ...request, effect: [] }, (scope) => decideDefer(scope, deferral));
    if (deferred.outcome === 'refused') return deferred.refusal;
    const expiresAt = deferred.after.leaseOf(command.taskId)?.expires_at_ms ?? 0;
    return {
      outcome: 'refused',
      reason: 'worker_survived',
      task_id: command.taskId,
      run_id: command.runId,
      status: 'running',
      expires_at: new Date(expiresAt).toISOString(),
      ...report,
    };
  }
  const reclaimed = await store.decide(request, (scope) =>
    decideReclaim(scope, { ...held, reason: command.reason, termination: report }),
  );
  return reclaimed.outcome === 'refused' ? reclaimed.refusal : done;
}

import type { SeenRun } from '../core/managed/decide-release.ts';
import { decideExpire, decideExtend, decideLost, decideOrphan } from '../core/managed/decide-release.ts';
import type { Refusal } from '../core/managed/decision.ts';
import type { Lease, TaskStatus } from '../core/managed/managed-task.ts';
import type { ManagedSettings } from '../core/managed/scope.ts';
import type { ManagedStore } from '../ports/managed-store.ts';
import type { ProcessControl, ProcessState } from '../ports/process-control.ts';

/** A task that reads `running`, and the lease under which it does. */
export interface RunningTask {
  readonly task_id: string;
  /** Null if nobody holds a lease for it: its bookkeeping is broken. */
  readonly lease: Lease | null;
  /** Where the worker's process stands; null if the lease names none. */
  readonly process: ProcessState | null;
}

/** A task went back, or is blocked because that happened too often. */
export interface Requeued {
  readonly outcome: 'requeued';
  readonly task_id: string;
  readonly status: TaskStatus;
}

/** What a sweep does with leases. Each act repeats what was seen in the transaction that writes. */
export interface ManagedLeases {
  settings(): Promise<ManagedSettings>;
  /** Every running task, by id. */
  running(): Promise<readonly RunningTask[]>;
  /** Gives an expired lease more time. */
  extend(seen: SeenRun, reason: string): Promise<{ readonly outcome: 'extended' } | Refusal>;
  /** Releases an expired lease; counts as a failure of the task. */
  release(seen: SeenRun): Promise<Requeued | Refusal>;
  /** Closes a run whose process is gone without a word; counts as a failure of the task. */
  lost(seen: SeenRun): Promise<Requeued | Refusal>;
  /** Requeues a task that runs under no lease. */
  requeueOrphan(taskId: string): Promise<Requeued | Refusal>;
}

/** Leases of a store, for sweeps. */
export function managedLeases(store: ManagedStore, processes: ProcessControl): ManagedLeases {
  const requeued = (
    decided: Awaited<ReturnType<ManagedStore['decide']>>,
    taskId: string,
  ): Requeued | Refusal =>
    decided.outcome === 'refused'
      ? decided.refusal
      : { outcome: 'requeued', task_id: taskId, status: decided.after.taskOf(taskId)?.status ?? 'ready' };
  const requestOf = (seen: SeenRun, effect: string) => ({
    taskIds: [seen.taskId],
    runId: seen.runId,
    effect: [effect],
  });

  return {
    settings: async () => (await store.read({ taskIds: [] })).settings,
    running: async () => {
      const ids = await store.runningTaskIds();
      if (ids.length === 0) return [];
      const scope = await store.read({ taskIds: ids });
      const tasks: RunningTask[] = [];
      for (const id of ids) {
        const lease = scope.leaseOf(id);
        const isHeld = lease?.open === true && lease.run_id === scope.taskOf(id)?.current_run_id;
        const held = isHeld ? lease : null;
        const worker = held?.process ?? null;
        tasks.push({
          task_id: id,
          lease: held,
          process: worker === null ? null : await processes.stateOf(worker),
        });
      }
      return tasks;
    },
    extend: async (seen, reason) => {
      const decided = await store.decide(requestOf(seen, 'claim.extended'), (scope) =>
        decideExtend(scope, { ...seen, reason }),
      );
      return decided.outcome === 'refused' ? decided.refusal : { outcome: 'extended' };
    },
    release: async (seen) =>
      requeued(
        await store.decide(requestOf(seen, 'claim.reclaimed'), (scope) =>
          decideExpire(scope, { ...seen, termination: {} }),
        ),
        seen.taskId,
      ),
    lost: async (seen) =>
      requeued(
        await store.decide(requestOf(seen, 'run.ended'), (scope) => decideLost(scope, seen)),
        seen.taskId,
      ),
    requeueOrphan: async (taskId) =>
      requeued(
        await store.decide({ taskIds: [taskId], effect: ['claim.reclaimed'] }, (scope) =>
          decideOrphan(scope, { taskId }),
        ),
        taskId,
      ),
  };
}

import type { ManagedSettings, RunningTask, SeenRun } from '@custody/ledger';

/** What a sweep does about one running task. */
export type LeaseAction =
  /** Its bookkeeping is broken: it runs under no lease. */
  | { readonly kind: 'requeue_orphan'; readonly task_id: string }
  /** Its worker's process is gone. */
  | { readonly kind: 'lost'; readonly task_id: string; readonly seen: SeenRun }
  /** Its lease ran out, and nothing shows that anybody works on it. */
  | { readonly kind: 'release'; readonly task_id: string; readonly seen: SeenRun }
  /** Its lease ran out while its process is alive. */
  | { readonly kind: 'extend'; readonly task_id: string; readonly seen: SeenRun };

/** The store's time and its settings. */
export interface LeaseClock {
  readonly now: number;
  readonly settings: Pick<ManagedSettings, 'park_settle_ms'>;
}

/**
 * Decides about running tasks (docs/contracts/attempts.md, 5). A run that was heard of just now is left alone: it may be
 * parking. A living process keeps its task however old its lease is: a sweep stops nobody.
 */
export function planLeases(running: readonly RunningTask[], clock: LeaseClock): readonly LeaseAction[] {
  return running.flatMap((task) => actionFor(task, clock) ?? []);
}

function actionFor(
  { task_id, lease, process }: RunningTask,
  { now, settings }: LeaseClock,
): LeaseAction | null {
  if (lease === null) return { kind: 'requeue_orphan', task_id };
  const seen = { taskId: task_id, runId: lease.run_id, fence: lease.fence };
  const isSettled = now - (lease.heartbeat_at_ms ?? 0) > settings.park_settle_ms;
  if (process === 'gone') return isSettled ? { kind: 'lost', task_id, seen } : null;
  if (lease.expires_at_ms >= now) return null;
  if (process === 'alive') return { kind: 'extend', task_id, seen };
  return isSettled ? { kind: 'release', task_id, seen } : null;
}

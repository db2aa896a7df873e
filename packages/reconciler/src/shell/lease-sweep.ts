import type { Journals, Ledger, Refusal, Requeued } from '@custody/ledger';
import type { LeaseAction } from '../core/lease-plan.ts';
import { planLeases } from '../core/lease-plan.ts';
import type { FailedTask, JournalCounts } from '../core/reports.ts';
import { messageOf } from './heal-rows.ts';

/** What a sweep did about managed tasks. */
export interface LeaseSweep {
  /** Tasks that can be claimed again. */
  readonly requeued: readonly string[];
  /** Tasks that are blocked because they failed too often in a row. */
  readonly gave_up: readonly string[];
  /** Tasks whose lease ran out while their process is alive. */
  readonly extended: readonly string[];
  readonly failed: readonly FailedTask[];
  /** What became of the journals; null if none were given. */
  readonly journals: JournalCounts | null;
}

/** A sweep that looked at no managed task. */
export const NO_LEASES: LeaseSweep = { requeued: [], gave_up: [], extended: [], failed: [], journals: null };

/**
 * Recovers journals, then deals with the leases that nobody keeps. In this order: a result that was handed in is
 * applied while its run still holds the task, and is never lost to a sweep.
 */
export async function sweepLeases(ledger: Ledger, journals: readonly Journals[]): Promise<LeaseSweep> {
  if (!ledger.managesTasks) return NO_LEASES;
  const recovered = journals.length === 0 ? null : await recoverAll(ledger, journals);
  const done = {
    requeued: [] as string[],
    gave_up: [] as string[],
    extended: [] as string[],
    failed: [] as FailedTask[],
  };
  for (const action of await listLeaseActions(ledger)) {
    try {
      collect(action, await carryOut(ledger, action), done);
    } catch (error) {
      done.failed.push({ task_id: action.task_id, error: messageOf(error) });
    }
  }
  return { ...done, journals: recovered };
}

/** What {@link sweepLeases} would do, without doing it. */
export async function listLeaseActions(ledger: Ledger): Promise<readonly LeaseAction[]> {
  if (!ledger.managesTasks) return [];
  const running = await ledger.leases.running();
  if (running.length === 0) return [];
  return planLeases(running, { now: ledger.clock.now(), settings: await ledger.leases.settings() });
}

function carryOut(
  ledger: Ledger,
  action: LeaseAction,
): Promise<Requeued | { readonly outcome: 'extended' } | Refusal> {
  switch (action.kind) {
    case 'requeue_orphan':
      return ledger.leases.requeueOrphan(action.task_id);
    case 'lost':
      return ledger.leases.lost(action.seen);
    case 'release':
      return ledger.leases.release(action.seen);
    case 'extend':
      return ledger.leases.extend(action.seen, 'process_alive');
  }
}

/** A refusal means that the task moved on between the look and the act: there is nothing left to do. */
function collect(
  { task_id }: LeaseAction,
  answer: Requeued | { readonly outcome: 'extended' } | Refusal,
  done: { readonly requeued: string[]; readonly gave_up: string[]; readonly extended: string[] },
): void {
  if (answer.outcome === 'extended') done.extended.push(task_id);
  else if (answer.outcome === 'requeued')
    (answer.status === 'ready' ? done.requeued : done.gave_up).push(task_id);
}

/** One folder that can't be read never stops the others, nor the sweep. */
async function recoverAll(ledger: Ledger, journals: readonly Journals[]): Promise<JournalCounts> {
  const total = { applied: 0, stale: 0, conflict: 0, retry: 0, errors: [] as string[] };
  for (const folder of journals) {
    try {
      const report = await folder.recover(ledger);
      total.applied += report.applied;
      total.stale += report.stale;
      total.conflict += report.conflict;
      total.retry += report.retry;
    } catch (error) {
      total.errors.push(messageOf(error));
    }
  }
  return total;
}

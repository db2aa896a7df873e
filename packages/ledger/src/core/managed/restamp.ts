import type { NewEvent } from '../recorded-event.ts';
import { toIsoTime } from '../time.ts';
import type { FailoverNodes } from './epoch-record.ts';
import type { Lease } from './managed-task.ts';

/** The events that begin an epoch: every open lease is carried over under a fence of its own. */
export function restampEvents(
  open: readonly Lease[],
  {
    epoch,
    reason,
    failover,
  }: { readonly epoch: number; readonly reason: string; readonly failover: FailoverNodes | null },
): readonly NewEvent[] {
  return [
    { type: 'ledger.epoch_raised', raised_to: epoch, reason, ...failover },
    ...open.map((lease) => ({
      type: 'lease.restamped',
      task_id: lease.task_id,
      run_id: lease.run_id,
      reason,
      expires_at: toIsoTime(lease.expires_at_ms),
    })),
  ];
}

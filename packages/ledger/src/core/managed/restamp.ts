import type { NewEvent } from '../recorded-event.ts';
import { toIsoTime } from '../time.ts';
import type { Lease } from './managed-task.ts';

/** The events that begin an epoch: every open lease is carried over under a fence of its own. */
export function restampEvents(
  open: readonly Lease[],
  { epoch, reason }: { readonly epoch: number; readonly reason: string },
): readonly NewEvent[] {
  return [
    { type: 'ledger.epoch_raised', raised_to: epoch, reason },
    ...open.map((lease) => ({
      type: 'lease.restamped',
      task_id: lease.task_id,
      run_id: lease.run_id,
      reason,
      expires_at: toIsoTime(lease.expires_at_ms),
    })),
  ];
}

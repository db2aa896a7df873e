import { toEpochMillis } from '../time.ts';
import type { ManagedEvent } from './managed-event.ts';
import { closesRun } from './managed-event.ts';
import type { Lease } from './managed-task.ts';

/** Applies one event to the lease of its task; returns the same object when it does not concern it. */
export function evolveLease(lease: Lease | null, event: ManagedEvent): Lease | null {
  if (event.type === 'run.started') {
    if (event.claim.synthesized === true) return lease;
    const at = toEpochMillis(event.recorded_at);
    return {
      task_id: event.task_id,
      run_id: event.run_id,
      fence: event.seq,
      holder: event.claim.holder,
      ttl_ms: event.claim.ttl_ms,
      open: true,
      started_at_ms: at,
      expires_at_ms: at + event.claim.ttl_ms,
      heartbeat_at_ms: null,
      process: event.claim.process ?? null,
    };
  }
  if (lease === null || !('run_id' in event) || event.run_id !== lease.run_id) return lease;
  if (event.type === 'lease.restamped') {
    return { ...lease, fence: event.seq, expires_at_ms: toEpochMillis(event.expires_at) };
  }
  if (event.type === 'claim.extended' || event.type === 'claim.deferred') {
    return { ...lease, expires_at_ms: toEpochMillis(event.expires_at) };
  }
  return lease.open && closesRun(event.type) ? { ...lease, open: false } : lease;
}

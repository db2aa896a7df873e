import type { z } from 'zod';
import type { ManagedType } from '../event-types.ts';
import { MANAGED_TYPES } from '../event-types.ts';
import type { JsonObject } from '../json.ts';
import { isJsonObject } from '../json.ts';
import type { RecordedEvent } from '../recorded-event.ts';
import { CLAIM_SCHEMA, MANAGED_SCHEMAS } from './managed-schema.ts';

interface Placed {
  readonly seq: number;
  readonly recorded_at: string;
  readonly task_id: string;
}

/** The start of an attempt, as a claim (or an end that nobody had claimed) writes it. */
export type ClaimedEvent = Placed & {
  readonly type: 'run.started';
  readonly run_id: string;
  readonly claim: z.infer<typeof CLAIM_SCHEMA>;
};

/** An event of a managed task, read and checked. */
export type ManagedEvent =
  | { [T in ManagedType]: Placed & { readonly type: T } & z.infer<(typeof MANAGED_SCHEMAS)[T]> }[ManagedType]
  | ClaimedEvent;

/** True for the types that only commands on managed tasks write. */
export function isManagedType(type: string): type is ManagedType {
  return Object.hasOwn(MANAGED_TYPES, type);
}

/** True if the event is part of a managed task's history. */
export function isManagedEvent(event: JsonObject & { readonly type: string }): boolean {
  return isManagedType(event.type) || (event.type === 'run.started' && isJsonObject(event['claim']));
}

/** The event as commands wrote it; null for events of others, and for one that a broken import brought. */
export function toManagedEvent(event: RecordedEvent): ManagedEvent | null {
  const placed = { seq: event.seq, recorded_at: event.recorded_at };
  if (isManagedType(event.type)) {
    const read = MANAGED_SCHEMAS[event.type].safeParse(event);
    return read.success ? ({ ...read.data, ...placed, type: event.type } as unknown as ManagedEvent) : null;
  }
  if (event.type !== 'run.started' || !isJsonObject(event['claim'])) return null;
  const claim = CLAIM_SCHEMA.safeParse(event['claim']);
  const { task_id, run_id } = event;
  if (!claim.success || typeof task_id !== 'string' || typeof run_id !== 'string') return null;
  return { type: 'run.started', ...placed, task_id, run_id, claim: claim.data };
}

/** True for a type whose events end the attempt that they name. */
export function closesRun(type: string): boolean {
  return closingOutcome({ type, outcome: 'any' }) !== null;
}

/** How an event ends the attempt that it names, in a word; null if it ends none. */
export function closingOutcome(event: JsonObject & { readonly type: string }): string | null {
  switch (event.type) {
    case 'task.completed':
      return 'completed';
    case 'task.failed':
      return 'failed';
    case 'task.cancelled':
      return 'cancelled';
    case 'task.blocked':
    case 'task.block_loop_detected':
    case 'task.dependency_wait':
      return 'blocked';
    case 'task.archived':
    case 'claim.reclaimed':
      return 'reclaimed';
    case 'run.parked':
      return 'parked';
    case 'run.ended':
      return typeof event['outcome'] === 'string' ? event['outcome'] : null;
    default:
      return null;
  }
}

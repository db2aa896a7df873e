import type { JsonObject, JsonValue } from './json.ts';

/** What a writer hands in: the envelope it may give, and the payload of the type beside it. */
export interface NewEvent {
  /** Makes the append idempotent. At most 128 characters; a UUIDv7 when absent. */
  readonly id?: string;
  readonly type: string;
  /** When it happened, ISO 8601; the ledger's clock when absent. */
  readonly at?: string;
  readonly task_id?: string;
  readonly run_id?: string;
  readonly [payload: string]: JsonValue | undefined;
}

/** An event as the ledger holds it. `seq` is the only order. */
export interface RecordedEvent extends JsonObject {
  /** 1, 2, 3, ... without gaps. */
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  /** ISO 8601, UTC, milliseconds. */
  readonly at: string;
  /** The ledger's own clock; ISO 8601, UTC, milliseconds. */
  readonly recorded_at: string;
  readonly epoch: number;
  /** Chain hash, 64 hex digits. */
  readonly hash: string;
}

/** A recorded event with the exact text that its hash covers. */
export interface StoredEvent {
  readonly event: RecordedEvent;
  /** The event as JSON with everything but `hash`, kept byte for byte. */
  readonly text: string;
}

/** Keys that the ledger sets; a writer's payload can't use them. */
export const LEDGER_KEYS: ReadonlySet<string> = new Set(['seq', 'recorded_at', 'epoch', 'hash']);

/** What the ledger itself says of an event. */
export interface Envelope {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly recorded_at: string;
  readonly epoch: number;
}

/** Keys that an event has from its envelope, whatever its writer gave under them. */
const ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  'seq',
  'id',
  'type',
  'at',
  'recorded_at',
  'epoch',
  'task_id',
  'run_id',
  'hash',
]);

/**
 * The event that is kept, with its text: the envelope first and in a fixed order, so that equal events have equal
 * texts. It is built and printed once, since this is the most frequent thing that a ledger does.
 */
export function toStoredEvent(
  given: JsonObject,
  envelope: Envelope,
  hashOf: (text: string) => string,
): StoredEvent {
  const { seq, id, type, at, recorded_at, epoch } = envelope;
  const event: Record<string, JsonValue | undefined> = { seq, id, type, at, recorded_at, epoch };
  if (given['task_id'] !== undefined) event['task_id'] = given['task_id'];
  if (given['run_id'] !== undefined) event['run_id'] = given['run_id'];
  for (const key of Object.keys(given)) if (!ENVELOPE_KEYS.has(key)) event[key] = given[key];
  const text = JSON.stringify(event);
  event['hash'] = hashOf(text);
  return { text, event: event as unknown as RecordedEvent };
}

/** One line of `event list` and `event export`: the stored text with its hash as the last key. */
export function toPrintedLine(text: string, hash: string): string {
  return `${text.slice(0, -1)},"hash":"${hash}"}`;
}

/** The stored text inside a printed line, or null if the line does not end in a hash. */
export function splitPrintedLine(line: string): { readonly text: string; readonly hash: string } | null {
  const match = /,"hash":"([0-9a-f]{64})"\}$/.exec(line);
  if (match?.[1] === undefined) return null;
  return { text: `${line.slice(0, match.index)}}`, hash: match[1] };
}

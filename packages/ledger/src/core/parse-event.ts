import { InvalidEventError } from '../errors.ts';
import { findLimitFault, MAX_EVENT_BYTES } from './event-limits.ts';
import { EVENT_SCHEMAS, EXTENSION_SCHEMA } from './event-schema.ts';
import { EXTENSION_PREFIX, isKnownType, isLedgerOwnedType } from './event-types.ts';
import type { JsonObject } from './json.ts';
import { isJsonObject } from './json.ts';
import type { NewEvent } from './recorded-event.ts';
import { LEDGER_KEYS } from './recorded-event.ts';
import { normalizeTime } from './time.ts';

/** Who hands an event in: the ledger's own shell may write types that are closed to others. */
export type EventWriter = 'anyone' | 'ledger';

/**
 * Checks one event at the edge; what comes back is safe to store and to fold.
 *
 * @throws InvalidEventError naming the field and the reason; `index` is the event's place in its batch.
 */
export function parseNewEvent(input: unknown, index: number, writer: EventWriter = 'anyone'): NewEvent {
  if (!isJsonObject(input)) throw invalid(index, null, 'an event must be a JSON object');
  refuseReservedKeys(input, index);
  const limit = findLimitFault(input);
  if (limit !== null) throw invalid(index, limit.field, `${limit.field} ${limit.problem}`);
  const type = parseType(input, index, writer);
  const schema = isKnownType(type) ? EVENT_SCHEMAS[type] : EXTENSION_SCHEMA;
  const parsed = schema.safeParse(input);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const path = issue?.path.map(String).join('.') ?? '';
    const field = path === '' ? null : path;
    throw invalid(index, field, `${field ?? 'the event'} ${wording(issue?.message)}`);
  }
  assertEventSize(input, index);
  return normalized(input, type);
}

/** Room for what the ledger adds to an event: seq, id, times, epoch. */
const ENVELOPE_BYTES = 512;

function assertEventSize(input: JsonObject, index: number): void {
  if (atMostBytes(input) + ENVELOPE_BYTES <= MAX_EVENT_BYTES) return;
  const text = JSON.stringify(input);
  // A text of n UTF-16 units takes at most 3n bytes; count exactly only when it could matter.
  if (text.length * 3 + ENVELOPE_BYTES <= MAX_EVENT_BYTES) return;
  const bytes = new TextEncoder().encode(text).length + ENVELOPE_BYTES;
  if (bytes <= MAX_EVENT_BYTES) return;
  throw new InvalidEventError(
    'event_too_large',
    `the event has ${bytes} bytes, the limit is ${MAX_EVENT_BYTES}`,
    {
      field: null,
      index,
      hint: 'Store the large part elsewhere and put a reference into the event.',
      facts: { bytes, limit: MAX_EVENT_BYTES },
    },
  );
}

/** No fewer bytes than the event takes as JSON; endless where that is not seen at a glance. */
function atMostBytes(input: JsonObject): number {
  let bytes = 2;
  for (const key of Object.keys(input)) {
    const value = input[key];
    if (typeof value === 'object' && value !== null) return Number.POSITIVE_INFINITY;
    // A unit of a text takes at most six bytes, as an escape; quotes, colon and comma; any number fits 25.
    bytes += 6 * key.length + 4 + (typeof value === 'string' ? 6 * value.length + 2 : 25);
  }
  return bytes;
}

function wording(message: string | undefined): string {
  if (message === undefined) return 'is invalid';
  return /^(is|must|has|contains) /.test(message) ? message : `is invalid: ${message}`;
}

function refuseReservedKeys(input: JsonObject, index: number): void {
  for (const key of Object.keys(input)) {
    if (LEDGER_KEYS.has(key)) throw invalid(index, key, `${key} is set by the ledger`, 'Leave the key out.');
  }
}

function parseType(input: JsonObject, index: number, writer: EventWriter): string {
  const type = input['type'];
  if (type === undefined) throw invalid(index, 'type', 'type is missing');
  if (typeof type !== 'string') throw invalid(index, 'type', 'type must be a string');
  if (!isKnownType(type) && !type.startsWith(EXTENSION_PREFIX)) {
    const hint = 'Known types are listed in docs/events.md; types of your own begin with x.';
    throw invalid(index, 'type', `type ${JSON.stringify(type.slice(0, 128))} is unknown`, hint);
  }
  if (writer === 'anyone' && isLedgerOwnedType(type)) {
    throw invalid(index, 'type', `type ${type} is written by the ledger only`);
  }
  if (writer === 'anyone' && type === 'run.started' && input['claim'] !== undefined) {
    throw invalid(
      index,
      'claim',
      'claim is written by the ledger only',
      'Claim the task; a run of your own starts without it.',
    );
  }
  return type;
}

function normalized(input: JsonObject, type: string): NewEvent {
  const event: Record<string, JsonObject[string]> = { ...input };
  if (typeof input['at'] === 'string') event['at'] = normalizeTime(input['at']) ?? input['at'];
  if (event['run_id'] === '') delete event['run_id'];
  if (
    type === 'run.start_requested' &&
    input['request'] === undefined &&
    input['request_ref'] === undefined
  ) {
    // Without a body nothing could be sent again, but the intent must stay visible; a reference that
    // can't be read keeps its identity, an absent one would drop the invocation (docs/contracts/custody.md, 2.1).
    event['request_ref'] = { unrecorded: true };
  }
  return event as NewEvent;
}

function invalid(index: number, field: string | null, message: string, hint?: string): InvalidEventError {
  return new InvalidEventError('invalid_event', message, {
    field,
    index,
    ...(hint === undefined ? {} : { hint }),
  });
}

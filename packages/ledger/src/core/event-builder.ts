import { chainHash } from './event-hash.ts';
import type { JsonObject } from './json.ts';
import { isSameJson } from './json.ts';
import type { NewEvent, StoredEvent } from './recorded-event.ts';
import { toStoredEvent } from './recorded-event.ts';

/** Where a new event is put: after the head, at a time, in an epoch. */
export interface ChainPlace {
  readonly seq: number;
  readonly previousHash: string;
  readonly recordedAt: string;
  readonly epoch: number;
}

/** Gives an event its place in the chain. */
export function chainEvent(event: NewEvent, id: string, place: ChainPlace): StoredEvent {
  const envelope = {
    seq: place.seq,
    id,
    type: event.type,
    at: event.at ?? place.recordedAt,
    recorded_at: place.recordedAt,
    epoch: place.epoch,
  };
  return toStoredEvent(event, envelope, (text) => chainHash(place.previousHash, text));
}

/** What a writer gave, without what the ledger added. */
function givenPart(event: JsonObject): JsonObject {
  const { seq: _seq, recorded_at: _recordedAt, epoch: _epoch, hash: _hash, id: _id, ...given } = event;
  return given;
}

/**
 * True if an event with a known id says the same as the recorded one: by meaning, the order of keys ignored.
 * A time or a task that the writer left to the ledger is not compared.
 */
export function isSameEvent(recorded: JsonObject, offered: NewEvent): boolean {
  const known: Record<string, JsonObject[string]> = { ...givenPart(recorded) };
  if (offered.at === undefined) delete known['at'];
  if (offered.task_id === undefined) delete known['task_id'];
  return isSameJson(known, givenPart(offered as JsonObject));
}

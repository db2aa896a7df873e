import { chainHash } from './event-hash.ts';
import { isKnownType, typeFromOuroboros, typeToOuroboros } from './event-types.ts';
import { toSafeObject } from './foreign-json.ts';
import { isId } from './ids.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { isJsonObject, textOf } from './json.ts';
import type { NewEvent, RecordedEvent, StoredEvent } from './recorded-event.ts';
import { toStoredEvent } from './recorded-event.ts';
import type { JsonlDialect } from './store-url.ts';
import type { IsoTime } from './time.ts';
import { normalizeTime } from './time.ts';

/** A custody row of a JSON Lines log, told in the ledger's words. */
export interface LineEvent {
  /** The dialect that the row's type is written in. */
  readonly dialect: JsonlDialect;
  readonly type: string;
  /** The id that the row gives itself; null if it gives none that may serve as one. */
  readonly id: string | null;
  /** When it happened; null when the row does not say. */
  readonly at: IsoTime | null;
  /** When our writer wrote the row; null for rows of others. */
  readonly recorded_at: IsoTime | null;
  /** Everything else, under the ledger's names. */
  readonly given: JsonObject;
}

/** What one complete line is: a custody row, something else, or the rest of a write that was cut. */
export type LineReading =
  | { readonly kind: 'event'; readonly event: LineEvent }
  | { readonly kind: 'noise' }
  | { readonly kind: 'torn' };

const NOISE: LineReading = { kind: 'noise' };

/** Types of users: any name behind `x.`. */
const EXTENSION = /^x\.[A-Za-z0-9_.:-]+$/;

/** What a type of a newer version of this ledger looks like. */
const NEWER_TYPE = /^[a-z_]+\.[a-z_.]+$/;

/** What JSON takes for white space. A line of other blanks, such as U+2028, is what somebody's damage left. */
const BLANK = /^[ \t\r\n]*$/;

/** Reads one line. Invalid UTF-8 must have been replaced already. */
export function readLine(text: string): LineReading {
  return readLineAs(text, toLineEvent);
}

/**
 * Reads one line for a fold in memory: what the row gives is the row itself, for the caller to write the place and
 * the type into. A fold asks for fields by name, and none of its names is one that the envelope's keys would get;
 * only of a request for a start is the whole row kept, so only that one is copied.
 */
export function readFoldedLine(text: string): LineReading {
  return readLineAs(text, toFoldedEvent);
}

function readLineAs(text: string, toEvent: (row: JsonObject, kind: Kind) => LineEvent): LineReading {
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch {
    return BLANK.test(text) ? NOISE : { kind: 'torn' };
  }
  if (!isJsonObject(row)) return NOISE;
  const kind = kindOf(row);
  if (kind === null) return NOISE;
  return { kind: 'event', event: toEvent(toSafeObject(row), kind) };
}

function toFoldedEvent(row: JsonObject, kind: Kind): LineEvent {
  if (kind.type === 'run.start_requested') return toLineEvent(row, kind);
  const [first, second] = TIME_KEYS[kind.dialect];
  const at = timeOf(row, first) ?? timeOf(row, second);
  const id = isId(row['id']) ? row['id'] : null;
  return { dialect: kind.dialect, type: kind.type, id, at, recorded_at: null, given: row };
}

interface Kind {
  readonly type: string;
  readonly dialect: JsonlDialect;
}

/** The row's type as the ledger names it; null for rows of other subsystems. */
function kindOf(row: JsonObject): Kind | null {
  const name = textOf(row, 'type');
  const foreign = typeFromOuroboros(name);
  if (foreign !== null) return { type: foreign, dialect: 'ouroboros' };
  if (isKnownType(name) || EXTENSION.test(name)) return { type: name, dialect: 'custody' };
  // A newer writer of ours is known by its envelope; its event is kept, and ignored by the fold.
  const isOurs = NEWER_TYPE.test(name) && isId(row['id']) && typeof row['recorded_at'] === 'string';
  return isOurs ? { type: `x.${name}`, dialect: 'custody' } : null;
}

function toLineEvent(row: JsonObject, { type, dialect }: Kind): LineEvent {
  const [first, second] = TIME_KEYS[dialect];
  const firstTime = timeOf(row, first);
  const time = firstTime ?? timeOf(row, second);
  const timeKey = firstTime !== null ? first : time !== null ? second : '';
  const recordedAt = dialect === 'custody' ? timeOf(row, 'recorded_at') : null;
  const id = isId(row['id']) ? row['id'] : null;
  return {
    dialect,
    type,
    id,
    at: time,
    recorded_at: recordedAt,
    given: givenPart(row, timeKey, { id: id !== null, recordedAt: recordedAt !== null }),
  };
}

/** Where a row may say when it happened, the likelier key first. */
const TIME_KEYS = { ouroboros: ['ts', 'at'], custody: ['at', 'ts'] } as const;

function timeOf(row: JsonObject, key: string): IsoTime | null {
  const text = textOf(row, key);
  return text === '' ? null : normalizeTime(text);
}

/** Keys that the ledger sets itself; in a foreign row they mean something else. */
const TAKEN: ReadonlySet<string> = new Set(['seq', 'recorded_at', 'epoch', 'hash', 'at', 'id']);

/** Keys that hold an id as text or nothing. */
const TEXT_ONLY: ReadonlySet<string> = new Set(['task_id', 'run_id']);

function givenPart(
  row: JsonObject,
  timeKey: string,
  read: { readonly id: boolean; readonly recordedAt: boolean },
): JsonObject {
  const given: Record<string, JsonValue | undefined> = {};
  for (const key of Object.keys(row)) {
    const isRead =
      key === 'type' ||
      key === timeKey ||
      (key === 'id' && read.id) ||
      (key === 'recorded_at' && read.recordedAt);
    if (isRead) continue;
    const value = row[key];
    const isForeign = TAKEN.has(key) || (TEXT_ONLY.has(key) && typeof value !== 'string');
    if (isForeign) given[freeName(row, key)] = value;
    else given[timeKey === 'ts' && key.startsWith('x.') ? unescapeTs(key) : key] = value;
  }
  return given;
}

function freeName(row: JsonObject, key: string): string {
  let name = `x.${key}`;
  while (Object.hasOwn(row, name)) name = `x.${name}`;
  return name;
}

/** In lines whose time is under `ts`, a payload key `ts` is written `x.ts`, one named `x.ts` as `x.x.ts`, and so on. */
function escapeTs(key: string): string {
  return /^(?:x\.)*ts$/.test(key) ? `x.${key}` : key;
}

function unescapeTs(key: string): string {
  return /^(?:x\.)+ts$/.test(key) ? key.slice('x.'.length) : key;
}

/** Where a line stands: what its event takes from the log around it. */
export interface LinePlace {
  readonly seq: number;
  readonly id: string;
  /** The event's hash: chained over the bytes of the lines. */
  readonly hash: string;
  readonly epoch: number;
  /** The time of the event before it, for a row that gives none. */
  readonly previousAt: IsoTime;
}

/** The event that a line stands for. The same line at the same place gives the same text. */
export function toPlacedEvent(line: LineEvent, place: LinePlace): StoredEvent {
  const at = line.at ?? place.previousAt;
  const envelope = {
    seq: place.seq,
    id: place.id,
    type: line.type,
    at,
    recorded_at: line.recorded_at ?? at,
    epoch: place.epoch,
  };
  return toStoredEvent(line.given, envelope, () => place.hash);
}

/** The line's event as a writer would hand it in; what the line does not give is absent. */
export function toGivenEvent(line: LineEvent): NewEvent {
  return {
    ...(line.id === null ? {} : { id: line.id }),
    type: line.type,
    ...(line.at === null ? {} : { at: line.at }),
    ...line.given,
  } as NewEvent;
}

/**
 * The id of a row that gives none: it follows from the bytes and their place in the chain, so it never changes. The
 * place comes first: ids that grow with the log go to the end of an index, scattered ones touch a page of it each.
 */
export function derivedId(chainOffset: number, line: Uint8Array): string {
  const place = Math.abs(chainOffset).toString(16).padStart(OFFSET_DIGITS, '0');
  return `${chainOffset < 0 ? 'm' : 'l'}${place}${chainHash(`${chainOffset}\n`, line).slice(0, 20)}`;
}

/** Hex digits of any offset that a number can tell exactly. */
const OFFSET_DIGITS = 14;

/** The line of an event, without its newline. `hasOwnId` is false when nobody but the ledger gave it its id. */
export function toLine(event: RecordedEvent, dialect: JsonlDialect, hasOwnId: boolean): string {
  const {
    seq: _seq,
    epoch: _epoch,
    hash: _hash,
    id,
    type,
    at,
    recorded_at,
    task_id,
    run_id,
    ...payload
  } = event;
  if (dialect === 'custody')
    return JSON.stringify({ id, type, at, recorded_at, task_id, run_id, ...payload });
  const escaped = Object.fromEntries(Object.entries(payload).map(([key, value]) => [escapeTs(key), value]));
  return JSON.stringify({
    ts: at,
    type: typeToOuroboros(type),
    ...(hasOwnId ? { id } : {}),
    run_id,
    task_id,
    ...escaped,
  });
}

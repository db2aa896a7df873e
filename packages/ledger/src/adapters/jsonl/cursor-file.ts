import type { JsonObject } from '../../core/json.ts';
import { isJsonObject } from '../../core/json.ts';

/** Keys of a position that stand beside the offset in the file; the log's other readers pass over them. */
const PLACE_KEYS = ['segment', 'last_line_bytes', 'last_line_hash'] as const;

/** The rest of the reconciler's document, under one key of ours. */
const REST_KEY = 'custody';

/**
 * The reconciler's cursor as the file that the log's other readers know: `offset` in the chain and `deferred`
 * tasks. {@link fromCursorFile} is the inverse.
 */
export function toCursorFile(document: JsonObject): JsonObject {
  const { position, deferred, ...rest } = document;
  const place = isJsonObject(position) ? position : {};
  const { offset, ...details } = place;
  const beside = Object.fromEntries(
    PLACE_KEYS.filter((key) => Object.hasOwn(details, key)).map((key) => [key, details[key]]),
  );
  const others = Object.fromEntries(
    Object.entries(details).filter(([key]) => !(PLACE_KEYS as readonly string[]).includes(key)),
  );
  const kept = Object.keys(others).length === 0 ? rest : { ...rest, position: others };
  return {
    offset: typeof offset === 'number' ? offset : 0,
    deferred: isJsonObject(deferred) ? deferred : {},
    ...beside,
    ...(Object.keys(kept).length === 0 ? {} : { [REST_KEY]: kept }),
  };
}

/** The reconciler's document in a cursor file, whoever wrote it. What can't be understood counts as not there. */
export function fromCursorFile(file: JsonObject): JsonObject {
  const ours = file[REST_KEY];
  const { position: others, ...rest } = isJsonObject(ours) ? ours : {};
  const offset =
    typeof file['offset'] === 'number' && Number.isSafeInteger(file['offset']) && file['offset'] > 0
      ? file['offset']
      : 0;
  const beside = Object.fromEntries(
    PLACE_KEYS.filter((key) => Object.hasOwn(file, key)).map((key) => [key, file[key]]),
  );
  const place = { ...beside, ...(isJsonObject(others) ? others : {}) };
  const isAtStart = offset === 0 && Object.keys(place).length === 0;
  return {
    ...rest,
    position: isAtStart ? null : { offset, ...place },
    deferred: isJsonObject(file['deferred']) ? file['deferred'] : {},
  };
}

import type { JsonObject, JsonValue } from './json.ts';
import { isJsonObject, isSameJson } from './json.ts';
import type { RunFacts, RunRecord } from './run-record.ts';
import { BLANK_FACTS, emptyRun } from './run-record.ts';

/** What an empty record says: its fields in their order, and by name. */
interface Blank {
  readonly names: readonly string[];
  readonly values: readonly unknown[];
  readonly byName: Readonly<Record<string, unknown>>;
}

const BLANK_RUN = blankOf(emptyRun(''));
const NO_FACTS = blankOf(BLANK_FACTS);

function blankOf(record: object): Blank {
  return { names: Object.keys(record), values: Object.values(record), byName: { ...record } };
}

/**
 * A run's record without what says nothing. Most of the some seventy fields of a run are empty, and a ledger
 * keeps one record for each run that there ever was.
 */
export function packRun(run: RunRecord): JsonObject {
  const kept = whatDiffers(run, BLANK_RUN);
  kept['facts'] = whatDiffers(run.facts, NO_FACTS);
  return kept;
}

/** The record that was packed; the inverse of {@link packRun}. */
export function unpackRun(packed: JsonObject): RunRecord {
  const run = { ...emptyRun(String(packed['run_id'])), ...packed } as RunRecord;
  const facts = isJsonObject(packed['facts']) ? packed['facts'] : {};
  return { ...run, facts: run.started ? { ...BLANK_FACTS, ...(facts as RunFacts) } : {} };
}

function whatDiffers(record: object, { names, values, byName }: Blank): Record<string, JsonValue> {
  const kept: Record<string, JsonValue> = {};
  const given = Object.keys(record);
  const said = Object.values(record) as (JsonValue | undefined)[];
  for (let index = 0; index < said.length; index += 1) {
    const value = said[index];
    const name = given[index] ?? '';
    // Nearly every record has its fields in the order of the empty one: no field has to be looked up then.
    const blank = name === names[index] ? values[index] : byName[name];
    // Facts are packed on their own.
    if (value === undefined || value === blank || name === 'facts') continue;
    // Most fields are text: only an object can be equal without being the same.
    if (typeof value === 'object' && isSameJson(value, blank as JsonValue | undefined)) continue;
    kept[name] = value;
  }
  return kept;
}

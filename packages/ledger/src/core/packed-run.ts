import type { JsonObject, JsonValue } from './json.ts';
import { isJsonObject, isSameJson } from './json.ts';
import type { RunFacts, RunRecord } from './run-record.ts';
import { BLANK_FACTS, emptyRun } from './run-record.ts';

const BLANK: Readonly<Record<string, unknown>> = { ...emptyRun('') };

/** Fields of a run but its id and its facts. */
const FIELDS: readonly string[] = Object.keys(BLANK).filter((name) => name !== 'run_id' && name !== 'facts');

/**
 * A run's record without what says nothing. Most of the some seventy fields of a run are empty, and a ledger
 * keeps one record for each run that there ever was.
 */
export function packRun(run: RunRecord): JsonObject {
  const kept: Record<string, JsonValue> = { run_id: run.run_id };
  keepWhatDiffers(kept, { names: FIELDS, of: run, blank: BLANK });
  const facts: Record<string, JsonValue> = {};
  keepWhatDiffers(facts, { names: Object.keys(run.facts), of: run.facts, blank: BLANK_FACTS });
  kept['facts'] = facts;
  return kept;
}

/** The record that was packed; the inverse of {@link packRun}. */
export function unpackRun(packed: JsonObject): RunRecord {
  const run = { ...emptyRun(String(packed['run_id'])), ...packed } as RunRecord;
  const facts = isJsonObject(packed['facts']) ? packed['facts'] : {};
  return { ...run, facts: run.started ? { ...BLANK_FACTS, ...(facts as RunFacts) } : {} };
}

function keepWhatDiffers(
  kept: Record<string, JsonValue>,
  fields: { readonly names: readonly string[]; readonly of: object; readonly blank: object },
): void {
  const from = fields.of as Record<string, JsonValue>;
  const blank = fields.blank as Record<string, JsonValue>;
  for (const name of fields.names) {
    const value = from[name];
    if (value === undefined || value === blank[name]) continue;
    // Most fields are text: only an object can be equal without being the same.
    if (typeof value === 'object' && isSameJson(value, blank[name])) continue;
    kept[name] = value;
  }
}

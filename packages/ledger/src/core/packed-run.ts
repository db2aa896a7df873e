import type { JsonObject, JsonValue } from './json.ts';
import { isJsonObject, isSameJson } from './json.ts';
import type { RunFacts, RunRecord } from './run-record.ts';
import { BLANK_FACTS, emptyRun } from './run-record.ts';

/**
 * A run's record without what says nothing. Most of the some seventy fields of a run are empty, and a ledger
 * keeps one record for each run that there ever was.
 */
export function packRun(run: RunRecord): JsonObject {
  const { facts, ...rest } = run;
  const { facts: _none, ...blank } = emptyRun(run.run_id);
  return { run_id: run.run_id, ...whatDiffers(rest, blank), facts: whatDiffers(facts, BLANK_FACTS) };
}

/** The record that was packed; the inverse of {@link packRun}. */
export function unpackRun(packed: JsonObject): RunRecord {
  const run = { ...emptyRun(String(packed['run_id'])), ...packed } as RunRecord;
  const facts = isJsonObject(packed['facts']) ? packed['facts'] : {};
  return { ...run, facts: run.started ? { ...BLANK_FACTS, ...(facts as RunFacts) } : {} };
}

function whatDiffers(fields: object, blank: object): JsonObject {
  const kept: Record<string, JsonValue> = {};
  const blankFields = blank as Record<string, JsonValue>;
  for (const [name, value] of Object.entries(fields) as [string, JsonValue][]) {
    if (value !== blankFields[name] && !isSameJson(value, blankFields[name])) kept[name] = value;
  }
  return kept;
}

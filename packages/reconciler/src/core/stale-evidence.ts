import type { ExecutionEvidence, JsonObject, JsonValue } from '@custody/ledger';
import { COUNTERS, isJsonObject, substrateOf, textOf } from '@custody/ledger';

/**
 * True if the row's stored evidence no longer matches the log (docs/contracts/custody.md, 4.4). Frozen
 * top-level counters are never compared; a row that never delegated is never stale.
 */
export function isEvidenceStale(row: JsonObject, evidence: ExecutionEvidence): boolean {
  if (evidence.evidence_read_failed) return false;
  const envelope = row['subagent_envelope'];
  const stored = isJsonObject(envelope) ? envelope['execution_evidence'] : undefined;
  const hasCounters = COUNTERS.some((counter) => Object.hasOwn(row, counter));
  if (!hasCounters && !isJsonObject(stored)) return false;
  if (isJsonObject(stored) && differs(stored, evidence)) return true;
  const substrate = textOf(row, 'actual_substrate');
  return substrate !== '' && substrate !== substrateOf(evidence);
}

function differs(stored: JsonObject, evidence: ExecutionEvidence): boolean {
  if (COUNTERS.some((counter) => counterOf(stored[counter]) !== evidence[counter])) return true;
  return (stored['subscription_cost_usd'] ?? null) !== evidence.subscription_cost_usd;
}

/** Missing and null count as 0; anything else that is no number differs from every count. */
function counterOf(value: JsonValue | undefined): number {
  if (value === undefined || value === null) return 0;
  return typeof value === 'number' ? value : Number.NaN;
}

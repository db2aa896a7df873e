import { auditOf, DISCLOSED } from './audit.ts';
import type { Evidence } from './evidence.ts';
import { COUNTERS, evidenceOf, substrateOf } from './evidence.ts';
import type { Fold } from './fold.ts';
import type { JsonObject } from './json.ts';
import { isObject, isSame, own, text } from './json.ts';

const TERMINAL_STATUSES = ['completed', 'failed', 'cancelled', 'rejected_duplicate'];

export function isTerminal(row: JsonObject): boolean {
  return TERMINAL_STATUSES.includes(text(row, 'status'));
}

/** The row as a refresh leaves it, or null when the refresh writes nothing. */
export function healed(
  fold: Fold,
  row: JsonObject,
  about: { taskId: string; trigger: string },
): JsonObject | null {
  if (!isTerminal(row)) return null;
  const evidence = evidenceOf(fold, about.taskId);
  const audit = auditOf(fold, about.taskId, about.trigger);
  const isStale = isEvidenceStale(row, evidence);
  if (!isStale && !isLookedAt(row, audit)) return null;
  const isDisclosed = isDisclosureSame(row, audit);
  if (isDisclosed && !isStale) return null;
  const next = isDisclosed ? row : withDisclosure(row, audit);
  return isStale ? withEvidence(next, evidence) : next;
}

/** Whether the stored execution evidence has to be written anew. */
function isEvidenceStale(row: JsonObject, evidence: Evidence): boolean {
  const stored = storedEvidence(row);
  const isDelegated = stored !== null || COUNTERS.some((key) => Object.hasOwn(row, key));
  if (!isDelegated || evidence.evidence_read_failed) return false;
  if (stored !== null) {
    if (COUNTERS.some((key) => (own(stored, key) ?? 0) !== evidence[key])) return true;
    if ((own(stored, 'subscription_cost_usd') ?? null) !== evidence.subscription_cost_usd) return true;
  }
  const substrate = text(row, 'actual_substrate');
  return substrate !== '' && substrate !== substrateOf(evidence);
}

function storedEvidence(row: JsonObject): JsonObject | null {
  const envelope = own(row, 'subagent_envelope');
  const stored = isObject(envelope) ? own(envelope, 'execution_evidence') : null;
  return isObject(stored) ? stored : null;
}

/** Whether the disclosure of a row is worth a comparison: it names something, or the log does. */
function isLookedAt(row: JsonObject, audit: JsonObject): boolean {
  const retirements = list(own(storedEnvelope(row), 'deferred_project_retirements'));
  const areRetirementsRight = isSame(retirements, list(audit['deferred_project_retirements']));
  return (
    list(own(row, 'delegated_runs_unreconciled')).length > 0 ||
    (audit['audit_status'] === 'ok' && retirements.length > 0 && !areRetirementsRight) ||
    (audit['audit_status'] === 'ok' && list(audit['unreconciled']).length > 0)
  );
}

function isDisclosureSame(row: JsonObject, audit: JsonObject): boolean {
  const envelope = storedEnvelope(row);
  const isNothing = [audit['unreconciled'], ...DISCLOSED.map((key) => audit[key])].every(
    (value) => list(value).length === 0,
  );
  return (
    isSame(own(row, 'delegated_runs_unreconciled') ?? [], audit['unreconciled']) &&
    DISCLOSED.every((key) => isSame(own(envelope, key) ?? [], audit[key] ?? [])) &&
    (Object.keys(envelope).length > 0 || isNothing)
  );
}

function withDisclosure(row: JsonObject, audit: JsonObject): JsonObject {
  const known =
    own(storedEnvelope(row), 'last_known_unreconciled') ?? own(row, 'delegated_runs_unreconciled') ?? [];
  const kept = audit['audit_status'] === 'ok' ? {} : { last_known_unreconciled: known };
  return {
    ...row,
    delegated_runs_unreconciled: audit['unreconciled'],
    delegate_terminal_reconciliation: { ...audit, ...kept },
  };
}

function withEvidence(row: JsonObject, evidence: Evidence): JsonObject {
  const stored = own(row, 'subagent_envelope');
  const substrate = substrateOf(evidence);
  // Something else that stands there is its writer's, and stays.
  if (stored !== undefined && stored !== null && !isObject(stored))
    return { ...row, actual_substrate: substrate };
  const envelope = isObject(stored) ? stored : {};
  return {
    ...row,
    actual_substrate: substrate,
    subagent_envelope: { ...envelope, actual_substrate: substrate, execution_evidence: evidence },
  };
}

function storedEnvelope(row: JsonObject): JsonObject {
  const envelope = own(row, 'delegate_terminal_reconciliation');
  return isObject(envelope) ? envelope : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

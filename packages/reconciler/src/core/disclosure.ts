import type { JsonObject, JsonValue } from '@custody/ledger';
import { isJsonObject, isSameJson } from '@custody/ledger';
import type { Audit } from './audit.ts';

/** The lists of an audit that are compared with the stored envelope. Trigger, outcomes and status are not. */
const COMPARED = [
  'open_run_ids',
  'pending_invocation_ids',
  'undisposed_patch_run_ids',
  'deferred_project_retirements',
  'terminal_runs',
] as const;

/** The flat list stored on a row; a missing one is empty. */
export function storedList(row: JsonObject): JsonValue {
  return row['delegated_runs_unreconciled'] ?? [];
}

/** True if the row discloses something. */
export function hasStoredList(row: JsonObject): boolean {
  const list = storedList(row);
  return Array.isArray(list) && list.length > 0;
}

/** The envelope stored on a row; an empty object when there is none. */
export function storedEnvelope(row: JsonObject): JsonObject {
  const envelope = row['delegate_terminal_reconciliation'];
  return isJsonObject(envelope) ? envelope : {};
}

/**
 * The no-churn comparison (docs/contracts/custody.md, 4.3): true if writing the audit would change nothing that
 * counts. A row with the flat list only gets its envelope once.
 */
export function isDisclosed(row: JsonObject, audit: Audit): boolean {
  const envelope = storedEnvelope(row);
  const fresh = audit as unknown as JsonObject;
  if (!isSameJson(storedList(row), audit.unreconciled)) return false;
  if (!COMPARED.every((field) => isSameJson(envelope[field] ?? [], fresh[field] ?? []))) return false;
  return Object.keys(envelope).length > 0 || hasNothingToDisclose(audit);
}

function hasNothingToDisclose(audit: Audit): boolean {
  const fresh = audit as unknown as JsonObject;
  return audit.unreconciled.length === 0 && COMPARED.every((field) => isSameJson(fresh[field] ?? [], []));
}

/** True if the row discloses retirements that are no longer the right ones. */
export function areRetirementsStale(row: JsonObject, audit: Audit): boolean {
  if (audit.audit_status !== 'ok') return false;
  const stored = storedEnvelope(row)['deferred_project_retirements'];
  if (!Array.isArray(stored) || stored.length === 0) return false;
  return !isSameJson(stored, audit.deferred_project_retirements);
}

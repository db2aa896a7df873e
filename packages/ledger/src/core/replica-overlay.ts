import type { JsonObject, JsonValue } from './json.ts';
import { isJsonObject, isTruthy } from './json.ts';
import type { RawObject } from './raw-json.ts';
import { parseRawObject, printCompact } from './raw-json.ts';
import type { TaskRow } from './task-row.ts';
import { toTaskRow } from './task-row.ts';

/** Who a task is and where it stands among others; a child can't change that. */
const IDENTITY = [
  'task_id',
  'parent_task_id',
  'root_task_id',
  'original_task_id',
  'retry_task_id',
  'superseded_by',
  'supersedes_task_id',
  'session_id',
  'actor_id',
];

/** Healed on the canonical row only, so a copy must not cover them again. */
const DISCLOSURE = ['delegated_runs_unreconciled', 'delegate_terminal_reconciliation'];

/** What a task that did not succeed keeps, whatever its child says later. */
const VERDICT = ['status', 'result', 'error', 'ts'];

const KEEPS_VERDICT: ReadonlySet<string> = new Set(['failed', 'cancelled', 'rejected_duplicate']);

const ENVELOPE = 'subagent_envelope';

/** Goes with the execution evidence: judged from the same counts. */
const EVIDENCE_COMPANIONS = ['actual_substrate', 'native_contribution'];

/**
 * A canonical row with a child's copy laid over it (docs/contracts/custody.md, 9.2). The copy overrides
 * everything but ids, a disclosure that the canonical row has, the verdict of a task that did not succeed,
 * and execution evidence that is at least as far.
 */
export function overlayReplica(canonical: TaskRow, replica: TaskRow): TaskRow {
  const isKept = keptKeys(canonical);
  const raw = new Map(canonical.raw);
  for (const [key, text] of replica.raw) {
    if (!isKept.has(key)) raw.set(key, text);
  }
  if (canonicalEvidenceWins(canonical.value, replica.value)) keepEvidence(raw, canonical);
  return toTaskRow(raw, canonical.task_id);
}

function keptKeys(canonical: TaskRow): ReadonlySet<string> {
  const disclosed = DISCLOSURE.filter((key) => canonical.raw.has(key));
  const verdict = KEEPS_VERDICT.has(canonical.status) ? VERDICT : [];
  return new Set([...IDENTITY, ...disclosed, ...verdict]);
}

/** True if the canonical evidence is there and the copy's has nothing newer: runs only ever start and settle. */
function canonicalEvidenceWins(canonical: JsonObject, replica: JsonObject): boolean {
  const known = evidenceOf(canonical);
  const copied = evidenceOf(replica);
  if (known === null) return false;
  if (copied === null) return true;
  const knownCounts = countsOf(known);
  const copiedCounts = countsOf(copied);
  if (knownCounts === null) return false;
  return (
    copiedCounts === null ||
    (knownCounts.started >= copiedCounts.started && knownCounts.settled >= copiedCounts.settled)
  );
}

function evidenceOf(row: JsonObject): JsonObject | null {
  const envelope = row[ENVELOPE];
  const evidence = isJsonObject(envelope) ? envelope['execution_evidence'] : null;
  return isJsonObject(evidence) && Object.keys(evidence).length > 0 ? evidence : null;
}

/** Started and settled runs, or null if the evidence can't be trusted. */
function countsOf(evidence: JsonObject): { readonly started: number; readonly settled: number } | null {
  const started = evidence['delegated_runs_started'];
  const settled = evidence['delegated_runs_settled'];
  if (isTruthy(evidence['evidence_read_failed']) || !isCount(started) || !isCount(settled)) return null;
  return { started, settled };
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** Puts the canonical evidence, and what is judged from it, back over the copy's. */
function keepEvidence(raw: Map<string, string>, canonical: TaskRow): void {
  const own = rawEnvelope(canonical.raw);
  const shown = new Map(rawEnvelope(raw));
  shown.set('execution_evidence', own.get('execution_evidence') ?? '{}');
  for (const key of EVIDENCE_COMPANIONS) {
    // A row may tell them at one place only; the other then must not contradict it.
    const inside = own.get(key) ?? canonical.raw.get(key);
    const outside = canonical.raw.get(key) ?? own.get(key);
    if (inside !== undefined && (own.has(key) || shown.has(key))) shown.set(key, inside);
    if (outside !== undefined && (canonical.raw.has(key) || raw.has(key))) raw.set(key, outside);
  }
  raw.set(ENVELOPE, printCompact(shown));
}

function rawEnvelope(row: RawObject): RawObject {
  const text = row.get(ENVELOPE);
  return text !== undefined && isJsonObject(JSON.parse(text))
    ? parseRawObject(text)
    : new Map<string, string>();
}

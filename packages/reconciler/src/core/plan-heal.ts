import type {
  ExecutionEvidence,
  JsonObject,
  JsonValue,
  LiveFields,
  NewEvent,
  TaskCustody,
  TaskRow,
} from '@custody/ledger';
import { isTerminalStatus, substrateOf } from '@custody/ledger';
import type { Audit } from './audit.ts';
import { evidenceEvent } from './audit.ts';
import { areRetirementsStale, hasStoredList, isDisclosed, storedEnvelope, storedList } from './disclosure.ts';
import { isEvidenceStale } from './stale-evidence.ts';

/** One change of one row, and the event that will tell of it. */
export interface Heal {
  readonly task_id: string;
  readonly live: LiveFields;
  readonly evidence: NewEvent;
  /** The live fields as they stand, and as they will. */
  readonly before: JsonObject;
  readonly after: JsonObject;
  /** The events that made the row untrue, by `seq`. */
  readonly because: readonly number[];
  /** True if the row is right afterwards; false after an audit that failed closed. */
  readonly confirms: boolean;
}

/** What a look at a row found. */
export type HealPlan =
  | { readonly kind: 'heal'; readonly heal: Heal }
  /** The row says what the log says, or has nothing to say. */
  | { readonly kind: 'current'; readonly confirms: boolean }
  /** No row, or one whose task has not ended. */
  | { readonly kind: 'not_terminal' };

/** What a plan is made from: the row, and what the log says of its task. */
export interface HealInput {
  readonly row: TaskRow | null;
  readonly audit: Audit;
  readonly evidence: ExecutionEvidence;
  readonly custody: TaskCustody;
}

/**
 * Decides whether a terminal row needs a change, and which (docs/contracts/custody.md, 4). The log wins;
 * frozen fields are not even looked at.
 */
export function planHeal({ row, audit, evidence, custody }: HealInput): HealPlan {
  if (row === null || !isTerminalStatus(row.status)) return { kind: 'not_terminal' };
  const isGood = audit.audit_status === 'ok';
  const isStale = isEvidenceStale(row.value, evidence);
  const isSelected =
    hasStoredList(row.value) ||
    isStale ||
    areRetirementsStale(row.value, audit) ||
    (isGood && audit.unreconciled.length > 0);
  const isChanged = isSelected && !isDisclosed(row.value, audit);
  if (!isChanged && !isStale) return { kind: 'current', confirms: isGood };
  const live: LiveFields = {
    ...(isChanged
      ? {
          delegated_runs_unreconciled: audit.unreconciled,
          delegate_terminal_reconciliation: envelopeFor(row, audit),
        }
      : {}),
    ...(isStale ? { execution: { evidence, substrate: substrateOf(evidence) } } : {}),
  };
  const before = summaryBefore(row, live);
  const after = summaryAfter(live);
  return {
    kind: 'heal',
    heal: {
      task_id: row.task_id,
      live,
      before,
      after,
      confirms: isGood,
      evidence: evidenceEvent(audit, { changed: Object.keys(after), was: shortened(before) }),
      because: becauseOf(custody),
    },
  };
}

/**
 * The envelope that a row is given. A failed audit keeps the last list that was known, since the ids would be gone
 * from the row otherwise.
 */
export function envelopeFor(row: TaskRow, audit: Audit): JsonObject {
  const envelope = audit as unknown as JsonObject;
  if (audit.audit_status === 'ok') return envelope;
  const earlier = storedEnvelope(row.value)['last_known_unreconciled'];
  return { ...envelope, last_known_unreconciled: earlier ?? storedList(row.value) };
}

function summaryBefore(row: TaskRow, live: LiveFields): JsonObject {
  const before: Record<string, JsonValue> = {};
  if (live.delegated_runs_unreconciled !== undefined) {
    before['delegated_runs_unreconciled'] = row.value['delegated_runs_unreconciled'] ?? null;
    before['delegate_terminal_reconciliation'] = row.value['delegate_terminal_reconciliation'] ?? null;
  }
  if (live.execution !== undefined) {
    before['actual_substrate'] = row.value['actual_substrate'] ?? null;
    before['execution_evidence'] =
      (row.value['subagent_envelope'] as JsonObject | null | undefined)?.['execution_evidence'] ?? null;
  }
  return before;
}

function summaryAfter(live: LiveFields): JsonObject {
  return {
    ...(live.delegated_runs_unreconciled === undefined
      ? {}
      : {
          delegated_runs_unreconciled: live.delegated_runs_unreconciled,
          delegate_terminal_reconciliation: live.delegate_terminal_reconciliation ?? null,
        }),
    ...(live.execution === undefined
      ? {}
      : {
          actual_substrate: live.execution.substrate,
          execution_evidence: live.execution.evidence as unknown as JsonObject,
        }),
  };
}

/** What the evidence event keeps of the row as it was: enough to explain the heal, without the receipts. */
function shortened(before: JsonObject): JsonObject {
  const { delegate_terminal_reconciliation: envelope, ...rest } = before;
  return envelope === undefined
    ? rest
    : { ...rest, trigger: (envelope as JsonObject | null)?.['trigger'] ?? null };
}

/** The events that the audit rests on: starts of what is open, requests of what waits, ends of what is owed or received. */
function becauseOf(custody: TaskCustody): readonly number[] {
  const runs = custody.runs.map((run) => (run.settled ? run.settled_seq : run.first_seq));
  const invocations = custody.invocations.filter((item) => !item.started).map((item) => item.first_seq);
  return [...new Set([...runs, ...invocations])].filter((seq) => seq > 0).sort((a, b) => a - b);
}

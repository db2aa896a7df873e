import { parseRawObject, printCompact } from '../raw-json.ts';
import type { ExecutionEvidence } from '../run-evidence.ts';
import { substrateOf } from '../run-evidence.ts';
import type { RowParts, TaskRow } from '../task-row.ts';
import { isTerminalStatus, splitRow, toTaskRow, withLiveFields } from '../task-row.ts';
import { emptyTask } from './evolve.ts';
import type { ManagedTask } from './managed-task.ts';
import { isEnded } from './managed-task.ts';
import { ARCHIVED_FIELD, rowDocument } from './row-document.ts';

/** Fields of a managed row that only commands on its task write. */
export const MANAGED_KEYS: ReadonlySet<string> = new Set(
  Object.keys(rowDocument({ ...emptyTask(), status: 'completed' })),
);

/** The row after a change of its task: our fields over whatever else stands there. Null if nothing differs. */
export function managedRow(existing: TaskRow | null, task: ManagedTask): TaskRow | null {
  const raw = new Map(existing?.raw ?? []);
  let isChanged = existing === null;
  for (const [key, value] of Object.entries(rowDocument(task))) {
    const text = JSON.stringify(value);
    if (raw.get(key) === text) continue;
    raw.set(key, text);
    isChanged = true;
  }
  if (!isChanged) return null;
  const row = toTaskRow(raw, task.task_id);
  const isEndedNow = isEnded(task) && (existing === null || !isTerminalStatus(existing.status));
  return isEndedNow && task.evidence !== null ? withEvidence(row, task.evidence) : row;
}

/** The first evidence on a row that ends; from then on the reconciler keeps it true. */
function withEvidence(row: TaskRow, evidence: ExecutionEvidence): TaskRow {
  return withLiveFields(row, { execution: { evidence, substrate: substrateOf(evidence) } });
}

/**
 * Splits a managed row for a SQL store. What may still change after the end of the task is kept beside the frozen
 * part from the terminal write on.
 */
export function splitManagedRow(row: TaskRow, before: RowParts | null): RowParts {
  const parts = splitRow(row, before);
  if (before !== null || !isTerminalStatus(row.status)) return parts;
  const frozen = new Map(parseRawObject(parts.frozen));
  const archived = frozen.get(ARCHIVED_FIELD) ?? 'false';
  frozen.delete(ARCHIVED_FIELD);
  return {
    ...parts,
    frozen: printCompact(frozen),
    added: printCompact(new Map([[ARCHIVED_FIELD, archived]])),
  };
}

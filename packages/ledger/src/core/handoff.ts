import type { JsonObject, JsonValue } from './json.ts';
import { isJsonObject, textOf } from './json.ts';

/** Items of each list that a reader with little room is given. */
const MAX_ITEMS = 10;

const ENVELOPE_LISTS = [
  'open_run_ids',
  'pending_invocation_ids',
  'undisposed_patch_run_ids',
  'terminal_runs',
];

/**
 * What a model is told of a task's custody, from its effective row: the `delegated_custody` entry
 * (docs/contracts/custody.md, 9.3). Null if the row discloses nothing; a list, even empty, is a disclosure.
 */
export function handoffOf(row: JsonObject): JsonObject | null {
  const list = row['delegated_runs_unreconciled'];
  const envelope = envelopeOf(row);
  if (!Array.isArray(list) && envelope === null) return null;
  const shown = {
    ...bounded('unreconciled', itemsOf(list).map(toText)),
    ...(envelope === null ? {} : envelopePart(envelope)),
  };
  const isCut = Object.keys(shown).some((key) => key.endsWith('_omitted'));
  return isCut ? { ...shown, full_source: fullSource(row) } : shown;
}

/** The entry between the lines that mark it in a model's text. */
export function frameHandoff(handoff: JsonObject): string {
  return `[SUBTASK_OUTCOME]\n${JSON.stringify({ delegated_custody: handoff }, null, 2)}\n[/SUBTASK_OUTCOME]`;
}

function envelopeOf(row: JsonObject): JsonObject | null {
  const envelope = row['delegate_terminal_reconciliation'];
  return isJsonObject(envelope) && Object.keys(envelope).length > 0 ? envelope : null;
}

function envelopePart(envelope: JsonObject): JsonObject {
  const lists = ENVELOPE_LISTS.map((field) => bounded(field, itemsOf(envelope[field]).map(withoutJoinKey)));
  return {
    trigger: textOf(envelope, 'trigger'),
    audit_status: textOf(envelope, 'audit_status') || 'unknown',
    ...Object.fromEntries(lists.flatMap((list) => Object.entries(list))),
  };
}

function bounded(field: string, items: readonly JsonValue[]): JsonObject {
  const omitted = items.length - MAX_ITEMS;
  return { [field]: items.slice(0, MAX_ITEMS), ...(omitted > 0 ? { [`${field}_omitted`]: omitted } : {}) };
}

function itemsOf(list: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(list) ? (list as readonly JsonValue[]) : [];
}

function toText(item: JsonValue): string {
  return typeof item === 'string' ? item : JSON.stringify(item);
}

/** The actor's key joins stored records; to a model it is only a name it could misread. */
function withoutJoinKey(item: JsonValue): JsonValue {
  if (!isJsonObject(item)) return item;
  return Object.fromEntries(Object.entries(item).filter(([key]) => key !== 'selected_subagent_id'));
}

/** Where the whole lists stand; a retry may have inherited items from the task that it replaced. */
function fullSource(row: JsonObject): readonly string[] {
  const taskId = textOf(row, 'task_id');
  const origin = textOf(row, 'original_task_id') || textOf(row, 'timeout_retry_from');
  const tasks = origin === '' || origin === taskId ? [taskId] : [taskId, origin];
  return tasks.map((id) => `read_file(root='runtime_data', path='task_results/${id}.json')`);
}

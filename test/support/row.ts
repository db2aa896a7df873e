import type { JsonObject, TaskRow } from '@custody/ledger';
import { parseTaskRow } from '@custody/ledger';

/** A row from its fields, as a store would hand it out. */
export function rowOf(taskId: string, fields: JsonObject): TaskRow {
  return parseTaskRow(JSON.stringify({ task_id: taskId, ...fields }));
}

/** A row from its exact text, for values that `JSON.stringify` can't spell. */
export function rowFromText(text: string): TaskRow {
  return parseTaskRow(text);
}

import type { JsonObject } from '../json.ts';
import { COUNTERS } from '../run-evidence.ts';
import type { ManagedTask } from './managed-task.ts';
import { isEnded } from './managed-task.ts';

/** Marks a row that only commands on its task write. */
export const MANAGED_MARK = 'managed';

/** The one field of a managed row that may still change once the task has ended. */
export const ARCHIVED_FIELD = 'archived';

/** The row of a managed task. Once the task has ended nothing of it changes but {@link ARCHIVED_FIELD}. */
export function rowDocument(task: ManagedTask): JsonObject {
  return {
    task_id: task.task_id,
    status: task.status,
    [MANAGED_MARK]: true,
    title: task.title,
    body: task.body,
    assignee: task.assignee,
    priority: task.priority,
    parents: task.parents,
    current_run_id: task.current_run_id,
    completed_run_id: task.completed_run_id,
    result: task.result,
    summary: task.summary,
    metadata: task.metadata,
    reason_code: task.reason_code,
    error: task.error,
    block_kind: task.block_kind,
    block_recurrences: task.block_recurrences,
    consecutive_failures: task.consecutive_failures,
    created_by: task.created_by,
    ts: task.created_at,
    updated_at: task.updated_at,
    started_at: task.started_at,
    completed_at: task.completed_at,
    ...(isEnded(task) ? countersOf(task) : {}),
    [ARCHIVED_FIELD]: task.archived,
  };
}

function countersOf(task: ManagedTask): JsonObject {
  return Object.fromEntries(COUNTERS.map((name) => [name, task.evidence?.[name] ?? 0]));
}

import type { Insertable } from 'kysely';
import type { JsonValue } from '../../core/json.ts';
import type { Lease, ManagedTask, ProcessIdentity, Submission } from '../../core/managed/managed-task.ts';
import type { Question } from '../../core/questions/question.ts';
import { isOwed, isUnanswered } from '../../core/questions/question.ts';
import { parseRecord } from './records.ts';
import type { Tables } from './tables.ts';

/** A managed task as its row: the record, and beside it what queries ask for. */
export function toManagedTaskRow(ledger: string, task: ManagedTask): Insertable<Tables['managed_task']> {
  return {
    ledger,
    task_id: task.task_id,
    status: task.status,
    priority: task.priority,
    created_seq: task.created_seq,
    record: JSON.stringify(task),
  };
}

/** The parts of a lease that follow from the log. */
export function toLeaseGrant(ledger: string, lease: Lease) {
  return {
    ledger,
    task_id: lease.task_id,
    run_id: lease.run_id,
    fence: lease.fence,
    holder: lease.holder,
    ttl_ms: lease.ttl_ms,
    is_open: Number(lease.open),
    started_at_ms: lease.started_at_ms,
    process: lease.process === null ? null : JSON.stringify(lease.process),
  };
}

/** A lease as its row. */
export function toLeaseRow(ledger: string, lease: Lease): Insertable<Tables['lease']> {
  return {
    ...toLeaseGrant(ledger, lease),
    expires_at_ms: lease.expires_at_ms,
    heartbeat_at_ms: lease.heartbeat_at_ms,
  };
}

/** A lease read back from its row. */
export function toLease(row: Tables['lease']): Lease {
  return {
    task_id: row.task_id,
    run_id: row.run_id,
    fence: row.fence,
    holder: row.holder,
    ttl_ms: row.ttl_ms,
    open: row.is_open === 1,
    started_at_ms: row.started_at_ms,
    expires_at_ms: row.expires_at_ms,
    heartbeat_at_ms: row.heartbeat_at_ms,
    process: row.process === null ? null : parseRecord<ProcessIdentity>(row.process),
  };
}

/** A question as its row. */
export function toQuestionRow(ledger: string, question: Question): Insertable<Tables['question']> {
  return {
    ledger,
    question_id: question.question_id,
    task_id: question.task_id,
    asked_seq: question.asked_seq,
    is_open: Number(isUnanswered(question)),
    is_owed: Number(isOwed(question)),
    record: JSON.stringify(question),
  };
}

/** A submission as its row. */
export function toSubmissionRow(ledger: string, item: Submission): Insertable<Tables['submission']> {
  return {
    ledger,
    idempotency_key: item.idempotency_key,
    task_id: item.task_id,
    run_id: item.run_id,
    seq: item.seq,
    value: JSON.stringify(item.value),
  };
}

/** A submission read back from its row. */
export function toSubmission(row: Tables['submission']): Submission {
  return {
    idempotency_key: row.idempotency_key,
    task_id: row.task_id,
    run_id: row.run_id,
    seq: row.seq,
    value: parseRecord<JsonValue>(row.value),
  };
}

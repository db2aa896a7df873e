import { z } from 'zod';
import type { ManagedType } from '../event-types.ts';
import { ID_PATTERN } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { DELIVERY_MODES } from '../questions/question.ts';
import { BLOCK_KINDS, RUN_OUTCOMES } from './managed-task.ts';

const id = z.string().regex(ID_PATTERN, { error: 'must be an id of 1 to 128 characters' });
const ofTask = { task_id: id };
const ofRun = { task_id: id, run_id: id };
const maybeOfRun = { task_id: id, run_id: id.optional() };

const text = z.string();
const nullableText = z.string().nullable().optional();
const count = z.number().int().nonnegative();
const value = z.unknown().transform((given) => (given === undefined ? null : given) as JsonValue);
const object = z
  .record(z.string(), z.unknown())
  .transform((given) => given as JsonObject)
  .nullable()
  .optional();
const moment = z.iso.datetime();
const kind = z.enum(BLOCK_KINDS).nullable();

const process = z.object({
  pid: z.number().int().positive(),
  started_at_ticks: count,
  boot_id: text,
  machine_id: text.optional(),
  pid_namespace: text.optional(),
});

/** What a claim adds to `run.started`; only the ledger writes it, so it tells an attempt of ours from anybody's. */
export const CLAIM_SCHEMA = z.object({
  holder: z.string().min(1),
  ttl_ms: z.number().int().positive(),
  assignee: nullableText,
  process: process.nullable().optional(),
  synthesized: z.boolean().optional(),
  resume_notice: nullableText,
  resume_since: nullableText,
});

const texts = z.array(text);
/** What the log says of a task's delegated runs at the place of its end. */
const evidence = z.object({
  delegated_runs_started: count,
  delegated_runs_settled: count,
  delegated_runs_succeeded: count,
  delegated_runs_failed: count,
  delegated_runs_source_unresolved: count,
  delegated_run_failure_states: texts,
  subscription_cost_usd: z.number().nullable(),
  subscription_cost_estimated: z.boolean(),
  harness_models: texts,
  applied_access_profiles: texts,
  evidence_read_failed: z.boolean(),
  nanny_nudge_recorded: z.boolean(),
  delegate_start_attempted: z.boolean(),
});

const blocked = { reason: nullableText, kind, source_status: text };
const looping = { ...blocked, recurrences: count };

/** Payloads of the events that commands on managed tasks write. */
export const MANAGED_SCHEMAS = {
  'task.created': z.object({
    ...ofTask,
    title: z.string().min(1),
    body: nullableText,
    assignee: nullableText,
    priority: z.number().int(),
    created_by: nullableText,
    parents: z.array(id),
    status: z.enum(['triage', 'todo', 'ready', 'blocked']),
    max_retries: z.number().int().positive().nullable().optional(),
    decomposed_from: id.optional(),
  }),
  'task.linked': z.object({ ...ofTask, parent_id: id, status: z.enum(['todo']).optional() }),
  'task.assigned': z.object({ ...ofTask, assignee: text, previous: nullableText }),
  'task.commented': z.object({ ...maybeOfRun, author: text, body: text, late: z.boolean() }),
  'task.blocked': z.object({
    ...maybeOfRun,
    ...looping,
    requested_kind: kind.optional(),
    rekind_reason: text.optional(),
  }),
  'task.block_loop_detected': z.object({ ...maybeOfRun, ...looping, limit: count }),
  'task.dependency_wait': z.object({ ...maybeOfRun, ...blocked }),
  'task.unblocked': z.object({ ...ofTask, status: z.enum(['todo', 'ready']) }),
  'task.specified': z.object({
    ...ofTask,
    changed_fields: z.array(text),
    title: z.string().min(1).optional(),
    body: nullableText,
    assignee: nullableText,
    author: nullableText,
  }),
  'task.decomposed': z.object({
    ...ofTask,
    child_ids: z.array(id),
    root_assignee: nullableText,
    author: nullableText,
  }),
  'task.promoted': z.object({ ...ofTask, actor: nullableText, reason: nullableText }),
  'task.completed': z.object({
    ...maybeOfRun,
    result: value,
    summary: nullableText,
    metadata: object,
    result_hash: text,
    replayed: z.boolean().optional(),
    prior_outcome: z.enum(RUN_OUTCOMES).optional(),
    operator: text.optional(),
    evidence,
  }),
  'task.failed': z.object({ ...maybeOfRun, reason: text, error: nullableText, evidence }),
  'task.cancelled': z.object({ ...maybeOfRun, reason: nullableText, evidence }),
  'task.archived': z.object({ ...maybeOfRun, evidence: evidence.optional() }),
  'task.gave_up': z.object({
    ...maybeOfRun,
    failures: count,
    effective_limit: count,
    limit_source: z.enum(['task', 'ledger']),
    error: nullableText,
    trigger_outcome: z.enum(RUN_OUTCOMES),
  }),
  'question.raised': z.object({
    ...ofRun,
    question_id: id,
    kind: z.enum(['question']),
    text: z.string().min(1),
    options: texts,
    allow_text: z.boolean(),
  }),
  'question.answered': z.object({
    ...ofTask,
    question_id: id,
    answer: text,
    author: nullableText,
    status: z.enum(['ready', 'todo']).nullable(),
  }),
  'verdict.delivered': z.object({ ...ofRun, question_id: id, mode: z.enum(DELIVERY_MODES), text }),
  'run.parked': z.object({ ...ofRun, question_id: id, status: z.enum(['blocked', 'ready', 'todo']) }),
  'run.pushed': z.object({ ...ofRun, state: text, note: nullableText }),
  'run.submitted': z.object({ ...ofRun, idempotency_key: text, value }),
  'run.ended': z.object({
    ...ofRun,
    outcome: z.enum(['crashed', 'rate_limited', 'timed_out', 'stale', 'stopped', 'spawn_failed']),
    error: nullableText,
    counts: z.boolean(),
    exit: object,
  }),
  'claim.reclaimed': z.object({
    ...ofRun,
    manual: z.boolean(),
    reason: nullableText,
    error: text,
    counts: z.boolean(),
    termination: object,
  }),
  'claim.extended': z.object({ ...ofRun, reason: text, expires_at: moment }),
  'claim.deferred': z.object({ ...ofRun, reason: text, expires_at: moment, termination: object }),
  'lease.restamped': z.object({ ...ofRun, reason: text, expires_at: moment }),
} satisfies Record<ManagedType, z.ZodType>;

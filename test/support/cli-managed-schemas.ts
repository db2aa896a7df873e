import { z } from 'zod';

// What `--json` prints of managed tasks. As strict as the rest: see cli-schemas.ts.

const count = z.int().nonnegative();
const seq = z.int().positive();
const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ids = z.array(z.string());
const anyObject = z.record(z.string(), z.json());

const STATUSES = [
  'triage',
  'todo',
  'scheduled',
  'ready',
  'running',
  'blocked',
  'review',
  'completed',
  'failed',
  'cancelled',
] as const;
const status = z.enum(STATUSES);

const done = <Outcome extends string>(outcome: Outcome) =>
  z.strictObject({ outcome: z.literal(outcome), task_id: z.string(), status });

/** Everything that is shown of a run, whoever started it. */
export const RUN_FIELDS = {
  run_id: z.string(),
  role: z.enum(['attempt', 'delegate']),
  outcome: z.string().nullable(),
  state: z.string(),
  started_at: z.string(),
  ended_at: time.nullable(),
  holder: z.string().nullable(),
  summary: z.string().nullable(),
  fence: seq.nullable(),
  synthesized: z.boolean(),
  answers_injected: count,
  resume_notice: z.string().nullable(),
  resume_since: z.string().nullable(),
  error: z.string().nullable(),
  metadata: anyObject.nullable(),
};

/** A question as it was raised. */
const QUESTION_FIELDS = {
  question_id: z.string(),
  run_id: z.string(),
  text: z.string(),
  kind: z.literal('question'),
  options: z.array(z.string()),
  allow_text: z.boolean(),
  asked_at: time,
};

/** Times and limits that a store keeps for its managed tasks, in milliseconds. */
export const SETTINGS_SCHEMA = z.strictObject({
  lease_ttl_ms: seq,
  crash_grace_ms: count,
  park_settle_ms: count,
  failure_limit: seq,
});

/** The printed result of every command on managed tasks. */
export const MANAGED_CLI_SCHEMAS = {
  'task create': done('created'),
  'task link': done('linked'),
  'task assign': done('assigned'),
  'task comment': done('commented').extend({ late: z.boolean() }),
  'task block': done('blocked'),
  'task unblock': done('unblocked'),
  'task promote': done('promoted'),
  'task specify': done('specified'),
  'task decompose': done('decomposed').extend({ children: ids }),
  'task complete': done('completed').extend({ run_id: z.string().nullable(), seq }),
  'task cancel': done('cancelled'),
  'task archive': done('archived'),
  'run claim': z.strictObject({
    outcome: z.literal('claimed'),
    task_id: z.string(),
    run_id: z.string(),
    fence: seq,
    expires_at: time,
    pending_question: z.boolean(),
    question: z.strictObject(QUESTION_FIELDS).nullable(),
    resume_notice: z.string().nullable(),
  }),
  'run heartbeat': z.strictObject({ outcome: z.literal('extended'), expires_at: time }),
  'run push': z.strictObject({ outcome: z.literal('recorded') }),
  'run refresh': z.strictObject({ outcome: z.literal('refreshed'), fence: seq, expires_at: time }),
  'run submit': z.strictObject({ outcome: z.literal('applied'), replayed: z.boolean(), value: z.json() }),
  'run complete': z.strictObject({
    outcome: z.literal('completed'),
    task_id: z.string(),
    run_id: z.string(),
    replayed: z.boolean(),
    seq,
  }),
  'run fail': done('failed'),
  'run block': done('blocked'),
  'run reclaim': done('reclaimed').extend({ run_id: z.string() }),
  'run list': z.strictObject(RUN_FIELDS),
  'run ask': z.strictObject({ outcome: z.literal('asked'), task_id: z.string(), question_id: z.string() }),
  'run park': done('parked').extend({ question_id: z.string() }),
  'question list': z.strictObject({
    ...QUESTION_FIELDS,
    task_id: z.string(),
    asked_seq: seq,
    answer: z.string().nullable(),
    answered_seq: count,
    answered_at: time.nullable(),
    delivered: z
      .strictObject({ mode: z.enum(['injected', 'notice']), run_id: z.string(), at: time })
      .nullable(),
  }),
  'question answer': z.strictObject({
    outcome: z.literal('answered'),
    question_id: z.string(),
    task_id: z.string(),
    answer: z.string(),
    delivery: z.enum(['offered', 'with_next_claim']),
  }),
  'question deliveries': z.strictObject({
    outcome: z.literal('offered'),
    deliveries: z.array(
      z.strictObject({ question_id: z.string(), kind: z.literal('answer'), text: z.string() }),
    ),
  }),
  'question ack': z.strictObject({
    outcome: z.literal('delivered'),
    question_id: z.string(),
    replayed: z.boolean(),
  }),
  'journal write': z.strictObject({ pending: z.string() }),
  'journal recover': z.strictObject({
    applied: count,
    stale: count,
    conflict: count,
    retry: count,
    files: z.array(
      z.strictObject({
        task_id: z.string().nullable(),
        run_id: z.string().nullable(),
        outcome: z.enum(['applied', 'already_applied', 'stale', 'conflict', 'retry']),
        file: z.string(),
        reason: z.string().optional(),
      }),
    ),
  }),
} as const satisfies Record<string, z.ZodType>;

/** The row of a managed task, with every field that is sure to be there. */
export const MANAGED_ROW = z.looseObject({
  task_id: z.string(),
  status,
  title: z.string(),
  current_run_id: z.string().nullable(),
  completed_run_id: z.string().nullable(),
  result: z.json(),
  summary: z.string().nullable(),
  block_kind: z.enum(['dependency', 'needs_input', 'capability', 'transient']).nullable(),
  block_recurrences: count,
  consecutive_failures: count,
  assignee: z.string().nullable(),
  archived: z.boolean(),
});

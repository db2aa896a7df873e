import { z } from 'zod';
import { FAILOVER_CLI_SCHEMAS } from './cli-failover-schemas.ts';
import { MANAGED_CLI_SCHEMAS, RUN_FIELDS, SETTINGS_SCHEMA } from './cli-managed-schemas.ts';
import { SIMULATE_SCHEMAS } from './cli-simulate-schema.ts';

// What `--json` prints, command by command. The schemas are strict: a field that nobody documented is a fault, and
// docs/cli-json.md is held against them field by field.

const count = z.int().nonnegative();
const seq = z.int().positive();
const hex = z.string().regex(/^[0-9a-f]{64}$/);
/** ISO 8601, UTC, milliseconds. */
const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ids = z.array(z.string());
const anyObject = z.record(z.string(), z.json());

const receipt = z.strictObject({
  run_id: z.string(),
  state: z.string(),
  model: z.string(),
  profile_id: z.string(),
  selected_subagent_id: z.string(),
});

/** What a task owes, as an audit says it; the lists are absent when it failed. */
const audit = z.strictObject({
  task_id: z.string(),
  trigger: z.literal('audit'),
  outcomes: z.array(anyObject),
  audit_status: z.enum(['ok', 'failed']),
  open_run_ids: ids.optional(),
  pending_invocation_ids: ids.optional(),
  undisposed_patch_run_ids: ids.optional(),
  terminal_runs: z.array(receipt).optional(),
  deferred_project_retirements: ids.optional(),
  unreconciled: ids,
});

const plan = {
  plan: z
    .array(
      z.strictObject({ task_id: z.string(), before: anyObject, after: anyObject, because: z.array(seq) }),
    )
    .optional(),
  plan_hash: hex.optional(),
};

/** One thing that is owed, or a run that holds its task. */
const owedItem = z.strictObject({
  task_id: z.string(),
  kind: z.enum(['run', 'start', 'patch', 'question', 'lease', 'attempt', 'unknown']),
  id: z.string(),
  run_id: z.string().nullable(),
  since: time.nullable(),
  age_ms: count.nullable(),
  holder: z.string().nullable(),
  reason: z.string(),
  command: z.string(),
});

const failed = z.array(z.strictObject({ task_id: z.string(), error: z.string() }));

const reason = z.strictObject({ seq, type: z.string(), at: time });
const timeline = z.array(z.strictObject({ seq, at: time, type: z.string(), summary: z.string() }));

/** One event as it is listed and exported: the envelope, and the payload beside it. */
const event = z.looseObject({
  seq,
  id: z.string(),
  type: z.string(),
  at: time,
  recorded_at: time,
  epoch: seq,
  hash: hex,
  task_id: z.string().optional(),
  run_id: z.string().optional(),
});

/** A row is its orchestrator's document; only these are sure to be there. */
const row = z.looseObject({ task_id: z.string(), status: z.string() });

const problem = z.strictObject({
  code: z.string(),
  message: z.string(),
  seq: z.int().optional(),
  line: z.int().optional(),
  task_id: z.string().optional(),
  file: z.string().optional(),
});

const backfill = z.strictObject({
  trigger: z.literal('boot_backfill'),
  examined: count,
  refreshed: ids,
  failed,
  evidence_missing: ids,
  ...plan,
});

const sweep = z.strictObject({
  trigger: z.literal('sweep_refresh'),
  events_scanned: count,
  refreshed: ids,
  deferred: ids,
  orphans: z.array(
    z.looseObject({
      action: z.string(),
      run_id: z.string().optional(),
      invocation_id: z.string().optional(),
    }),
  ),
  requeued: ids,
  gave_up: ids.optional(),
  extended: ids.optional(),
  journals: z
    .strictObject({
      applied: count,
      stale: count,
      conflict: count,
      retry: count,
      errors: z.array(z.string()),
    })
    .optional(),
  failed,
  evidence_missing: ids,
  ...plan,
});

const append = z.strictObject({
  appended: count,
  duplicates: count,
  first_seq: seq.nullable(),
  last_seq: seq.nullable(),
});

/** The printed result of every command, by its full name. Streams are schemas of one line. */
export const CLI_SCHEMAS = {
  init: z.strictObject({
    store: z.string(),
    created: z.boolean(),
    schema_version: count,
    settings: SETTINGS_SCHEMA.optional(),
  }),
  backfill,
  sweep,
  clear: z.strictObject({
    trigger: z.literal('kill_path_clear'),
    task_id: z.string(),
    refreshed: z.boolean(),
    failed,
    ...plan,
  }),
  reconcile: z.union([backfill, sweep]),
  audit: z.strictObject({
    ledger: z.string().optional(),
    seq: count.nullable(),
    at: time.nullable(),
    owed: z.array(owedItem),
    held: z.array(owedItem),
    tasks: z.array(
      z.strictObject({
        task_id: z.string(),
        status: z.string().nullable(),
        terminal: z.boolean(),
        audit,
        stored: z.json(),
        current: z.boolean().nullable(),
        open_attempts: ids,
        open_questions: ids,
        row_error: z.string().optional(),
      }),
    ),
    totals: z.strictObject({
      open_runs: count,
      pending_invocations: count,
      undisposed_patches: count,
      oldest_unreconciled_at: time.nullable(),
    }),
    parked: z.array(z.strictObject({ task_id: z.string(), failures: count, error: z.string(), since: time })),
    deferred: z.array(z.strictObject({ task_id: z.string(), since: time })),
    cursor_lag: count.nullable(),
    last_pass: anyObject.nullable(),
    not_known: z.array(z.strictObject({ what: z.string(), why: z.string() })),
  }),
  'inspect task': z.strictObject({
    task_id: z.string(),
    status: z.string().nullable(),
    row: row.nullable(),
    obligations: z.strictObject({
      open_run_ids: ids,
      open_attempt_ids: ids,
      pending_invocation_ids: ids,
      undisposed_patch_run_ids: ids,
      unread_output_run_ids: ids,
      deferred_project_retirements: ids,
      open_question_ids: ids,
      undelivered_question_ids: ids,
    }),
    timeline,
  }),
  'inspect run': z.strictObject({
    ...RUN_FIELDS,
    started: z.boolean(),
    managed: z.boolean(),
    first_seq: count,
    task_id: z.string(),
    facts: anyObject,
    project_id: z.string(),
    project_owned: z.boolean(),
    project_persistent: z.boolean(),
    resource_ref: anyObject,
    snapshot_id: z.string(),
    ledger_recorded: z.boolean(),
    settled: z.boolean(),
    settled_seq: count,
    settled_at: z.string(),
    terminal_state: z.string(),
    terminal_reason: z.string(),
    has_verdict: z.boolean(),
    conflicting_verdicts: count,
    containment_disclosed: z.boolean(),
    unread_disclosed: z.boolean(),
    output_artifact: z.string(),
    output_complete: z.boolean(),
    output_sha: z.string(),
    output_consumed: z.boolean(),
    output_reader_receipts: z.array(z.strictObject({ reader_task_id: z.string() })),
    patch_captured: z.boolean(),
    patch_disposed: z.string(),
    patch_apply_pending: z.boolean(),
    patch_apply_key: z.string(),
    superseded_by: z.string(),
    max_seconds: z.number(),
    obligations: z.strictObject({
      open: z.boolean(),
      patch_owed: z.boolean(),
      output_unread: z.boolean(),
      registration_owned: z.boolean(),
    }),
    timeline,
  }),
  explain: z.strictObject({
    task_id: z.string(),
    fields: z.array(
      z.strictObject({
        field: z.string(),
        value: z.json(),
        frozen: z.boolean(),
        current: z.boolean(),
        because: z.array(reason),
      }),
    ),
    healed: z.array(
      z.strictObject({
        seq,
        at: time,
        trigger: z.string(),
        before: anyObject.nullable(),
        after: anyObject,
      }),
    ),
    would_change: z.strictObject({ before: anyObject, after: anyObject, because: z.array(seq) }).nullable(),
  }),
  handoff: z.strictObject({
    delegated_custody: z
      .strictObject({
        unreconciled: ids,
        unreconciled_omitted: count.optional(),
        trigger: z.string().optional(),
        audit_status: z.string().optional(),
        open_run_ids: z.array(z.json()).optional(),
        open_run_ids_omitted: count.optional(),
        pending_invocation_ids: z.array(z.json()).optional(),
        pending_invocation_ids_omitted: count.optional(),
        undisposed_patch_run_ids: z.array(z.json()).optional(),
        undisposed_patch_run_ids_omitted: count.optional(),
        terminal_runs: z.array(receipt.omit({ selected_subagent_id: true })).optional(),
        terminal_runs_omitted: count.optional(),
        full_source: z.array(z.string()).optional(),
      })
      .optional(),
  }),
  stats: z.strictObject({
    events: count,
    tasks: count,
    runs: count,
    open_runs: count,
    pending_invocations: count,
    undisposed_patches: count,
    open_questions: count,
    open_faults: count,
    oldest_unreconciled_at: time.nullable(),
    cursor_lag: count,
    deferred: count,
    parked_items: count,
    last_pass: anyObject,
  }),
  verify: z.strictObject({
    ok: z.boolean(),
    events: count,
    head_seq: count,
    head_hash: hex,
    problems: z.array(problem),
    notes: z.array(problem),
  }),
  'ledger checkpoint': z.strictObject({
    format: z.literal('custody-checkpoint-1'),
    ledger_id: hex.nullable(),
    seq: count,
    hash: hex,
    epoch: count,
    incarnation: z.string(),
    at: time,
    rows: z.strictObject({ count, hash: hex }).nullable(),
    key: hex,
    signature: z.string(),
  }),
  demo: z.strictObject({
    store: z.string(),
    imported: z.strictObject({
      appended: count,
      rows_written: count,
      rows_skipped: count,
      skipped: z.strictObject({ noise: count, torn: count, invalid: count }),
    }),
    backfill,
    sweep,
    examples: z.array(
      z.strictObject({ task_id: z.string(), field: z.string(), before: z.json(), after: z.json() }),
    ),
    frozen: z.strictObject({ compared: count, changed: ids }),
    frozen_example: z
      .strictObject({ task_id: z.string(), delegated_runs_settled: count, evidence_settled: count })
      .nullable(),
    late: z
      .strictObject({ task_id: z.string(), run_id: z.string(), before: z.json(), after: z.json() })
      .nullable(),
    second_backfill_refreshed: count,
    verify: z.strictObject({ ok: z.boolean(), events: count, head_seq: count, head_hash: hex }),
  }),
  backup: z.strictObject({
    store: z.string(),
    file: z.string(),
    bytes: count,
    events: count,
    head_seq: count,
    head_hash: hex,
    verified: z.literal(true),
  }),
  'event append': append,
  append,
  'event list': event,
  'event follow': event,
  'event import': z.strictObject({
    appended: count,
    duplicates: count,
    rows_written: count,
    skipped: z.strictObject({ noise: count, torn: count, invalid: count }),
    skipped_reasons: z.record(z.string(), count),
    rows_skipped: count,
    cursor: anyObject,
    problems: z.array(
      z.strictObject({
        place: z.string(),
        line: z.int().optional(),
        task_id: z.string().optional(),
        message: z.string(),
      }),
    ),
  }),
  'event export': event,
  'task put': z.strictObject({ written: count, unchanged: count }),
  'task get': row,
  'task list': row,
  serve: z.strictObject({
    listening: z.url(),
    node: z.string(),
    role: z.enum(['primary', 'replica']),
  }),

  ...FAILOVER_CLI_SCHEMAS,
  ...MANAGED_CLI_SCHEMAS,
  ...SIMULATE_SCHEMAS,
} as const satisfies Record<string, z.ZodType>;

/** What goes wrong, exit codes 2, 3 and 4. Facts stand beside these three. */
export const ERROR_SCHEMA = z.strictObject({
  error: z.looseObject({ code: z.string(), message: z.string().min(1), hint: z.string().min(1) }),
});

/** What is refused or not found, exit code 1. */
export const REFUSAL_SCHEMA = z.looseObject({
  outcome: z.enum(['refused', 'not_found', 'none']),
  reason: z.string().optional(),
});

import { z } from 'zod';
import type { EventType } from './event-types.ts';
import { ID_PATTERN } from './ids.ts';
import { CLAIM_SCHEMA, MANAGED_SCHEMAS } from './managed/managed-schema.ts';

const ID_RULE =
  'must be a string of 1 to 128 characters: letters, digits and _ . : -, starting with a letter or digit';

function refuseNonText(value: unknown): string {
  if (value === undefined) return 'is missing';
  if (typeof value === 'number')
    return `is a number (${value}); ids are strings, because large numbers lose digits`;
  return `is ${value === null ? 'null' : `a ${typeof value}`}; ${ID_RULE}`;
}

const id = z.string({ error: (issue) => refuseNonText(issue.input) }).regex(ID_PATTERN, { error: ID_RULE });
const text = z.string().optional();
const flag = z.boolean().optional();
const object = z.record(z.string(), z.unknown()).optional();
/** Text where absent means "not given" and the empty string is a value. */
const nullableText = z.string().nullable().optional();
const time = z.iso.datetime({
  offset: true,
  error: 'must be an ISO 8601 time with a zone, such as 2026-03-01T02:19:05.946Z',
});

/** The end of a run, as its executor reported it. */
export const RUN_STATES = ['succeeded', 'failed', 'cancelled', 'interrupted'] as const;

const envelope = { id: id.optional(), at: time.optional(), task_id: id.optional(), run_id: id.optional() };
const ofRun = { ...envelope, run_id: id };

const project = { project_id: text, project_owned: flag, project_persistent: flag };
const lineage = { root_task_id: text, parent_task_id: text, category: text, source: text };
const review = { review_skill: text, review_wave_id: text, review_slot_id: text };
const workspace = {
  snapshot_id: text,
  execution_root: text,
  execution_binding_fingerprint: text,
  baseline_sha: text,
  target_root: text,
  authority_source: text,
  continuation_of: text,
  capture_id: text,
  snapshot_task_id: text,
  resource_ref: object,
};
const order = {
  config_fingerprint: text,
  work_order_fingerprint: text,
  work_order_coverage: text,
  authority_fingerprint: text,
  work_order_source_request: object,
  selected_subagent_id: text,
  idempotency_key: text,
  route: text,
};

const startRequested = {
  ...envelope,
  ...project,
  ...lineage,
  ...review,
  ...workspace,
  ...order,
  invocation_id: id,
  task_id: id,
  run_id: z.union([z.literal(''), id]).optional(),
  surface: text,
  slot_id: text,
  operation_id: text,
  request: z.record(z.string(), z.unknown()).nullable().optional(),
  request_ref: object,
};

const started = {
  ...ofRun,
  ...project,
  ...lineage,
  ...review,
  ...workspace,
  ...order,
  task_id: id,
  role: z.enum(['attempt', 'delegate']).optional(),
  invocation_id: text,
  model: text,
  profile_id: text,
  ledger_root: text,
  access: text,
  mode: text,
  isolation: text,
  delegated: flag,
  effort: nullableText,
  processing_preference: nullableText,
  row_effort: nullableText,
  shape: object,
  process: object,
  claim: CLAIM_SCHEMA.optional(),
};

const settled = {
  ...ofRun,
  state: z.enum(RUN_STATES),
  cost_usd: z.number().nullable().optional(),
  cost_final: flag,
  spend_disclosed: flag,
  spend_estimated: flag,
  model: text,
  credential_profile_id: text,
  access_profile: text,
  outcome_reason: text,
};

const fault = { ...ofRun, reason: text, detail: text };
const list = z.array(z.string());

/**
 * What each type must and may carry. Fields beyond these are kept as they are.
 * The annotation makes a type of the table without a schema a compile error.
 */
export const EVENT_SCHEMAS: Readonly<Record<EventType, z.ZodType>> = {
  'run.start_requested': z.looseObject(startRequested),
  'run.start_failed': z.looseObject({
    ...envelope,
    invocation_id: id,
    run_id: z.union([z.literal(''), id]).optional(),
    definite: z.boolean(),
    reason: text,
  }),
  'run.start_blocked': z.looseObject({ ...envelope, task_id: id, reason: text }),
  'run.startup_fault': z.looseObject({ ...envelope, task_id: id, reason: text }),
  'run.nudge_injected': z.looseObject({ ...envelope, task_id: id }),
  'run.started': z.looseObject(started),
  'run.ledger_recorded': z.looseObject(ofRun),
  'run.settled': z.looseObject(settled),
  'run.settle_failed': z.looseObject({ ...ofRun, step: text, reason: text }),
  'run.closed_absent': z.looseObject({ ...ofRun, reason: text }),
  'run.cancel_outcome': z.looseObject({ ...ofRun, outcome: text }),
  // Of a run, or of an invocation that has none yet.
  'run.reconciled': z.looseObject({ ...envelope, invocation_id: id.optional(), action: text }),
  'output.spilled': z.looseObject({
    ...ofRun,
    staged: flag,
    artifact: text,
    sha256: text,
    full_content: flag,
  }),
  'output.consumed': z.looseObject({ ...ofRun, sha256: text, reader_task_id: text }),
  'output.left_unread': z.looseObject(ofRun),
  'patch.captured': z.looseObject({ ...ofRun, snapshot_id: text }),
  'patch.apply_started': z.looseObject({ ...ofRun, apply_key: text }),
  'patch.apply_resolved': z.looseObject(ofRun),
  'patch.disposed': z.looseObject({ ...ofRun, disposition: z.enum(['applied', 'rejected', 'superseded']) }),
  'project.retired': z.looseObject({ ...ofRun, project_id: text, project_kept: flag }),
  'project.retire_failed': z.looseObject({ ...ofRun, project_id: text, reason: text }),
  'containment.unconfined': z.looseObject(ofRun),
  'containment.fault': z.looseObject(fault),
  'containment.resolved': z.looseObject(fault),
  'task.recorded': z.looseObject({ ...envelope, task_id: id, status: z.string().min(1) }),
  'custody.unreconciled': z.looseObject({ ...envelope, task_id: id, trigger: z.string(), run_ids: list }),
  'custody.reconciled': z.looseObject({ ...envelope, task_id: id, trigger: z.string() }),
  'ledger.checkpoint': z.looseObject({ ...envelope, checkpoint: z.looseObject({}) }),
  'ledger.epoch_raised': z.looseObject({
    ...envelope,
    raised_to: z.number().int().positive(),
    from_node: id.optional(),
    to_node: id.optional(),
  }),
  ...MANAGED_SCHEMAS,
};

/** The envelope of a type that this version does not know, which must begin with `x.`. */
export const EXTENSION_SCHEMA = z.looseObject({
  ...envelope,
  type: z.string().regex(/^x\.[A-Za-z0-9_.:-]{1,126}$/, {
    error: 'must begin with x. and have at most 128 characters of A-Za-z0-9_.:-',
  }),
});

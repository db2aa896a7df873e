import type { NewEvent as LedgerEvent } from '@custody/ledger';
import { BLOCK_KINDS } from '@custody/ledger';
import { z } from 'zod';
import { fence, id, json, jsonObject, spanMs, text } from './values.ts';

/** The path of a task, a run or a question. */
export const ofTask = z.strictObject({ task_id: id });
export const ofRun = z.strictObject({ run_id: id });
export const ofQuestion = z.strictObject({ question_id: id });

const optionalText = text.nullable().optional();

export const NewTask = z.strictObject({
  task_id: id.optional(),
  title: text,
  body: optionalText,
  assignee: optionalText,
  priority: z.int().optional(),
  parents: z.array(id).optional(),
  created_by: optionalText,
  max_retries: z.int().min(1).nullable().optional(),
  initial: z.enum(['triage', 'blocked']).optional(),
});

export const Link = z.strictObject({ parent_id: id });
export const Assign = z.strictObject({ assignee: text });
export const Comment = z.strictObject({ author: text, body: text, run_id: id.nullable().optional() });
export const Block = z.strictObject({
  reason: optionalText,
  kind: z.enum(BLOCK_KINDS).nullable().optional(),
});
export const Reason = z.strictObject({ reason: optionalText });
export const Promote = z.strictObject({ actor: text, reason: optionalText });

export const Specify = z.strictObject({
  title: optionalText,
  body: optionalText,
  assignee: optionalText,
  author: optionalText,
});

export const Decompose = z.strictObject({
  children: z.array(
    z.strictObject({
      task_id: id.optional(),
      title: text,
      assignee: optionalText,
      parents: z.array(id).optional(),
    }),
  ),
  root_assignee: optionalText,
  author: optionalText,
  auto_promote: z.boolean().optional(),
});

export const OperatorComplete = z.strictObject({
  operator: text,
  result: json.optional(),
  summary: optionalText,
  metadata: jsonObject.nullable().optional(),
  force: z.boolean().optional(),
});

export const Claim = z.strictObject({
  holder: text,
  task_id: id.optional(),
  ttl_ms: spanMs.optional(),
  process: z
    .strictObject({
      pid: z.int().min(1),
      started_at_ticks: z.int().min(0),
      boot_id: text,
      machine_id: text.optional(),
      pid_namespace: text.optional(),
    })
    .optional(),
});

const held = { fence };
const heldTask = { task_id: id, fence };

export const Heartbeat = z.strictObject({ ...held, ttl_ms: spanMs.optional() });
export const Push = z.strictObject({ ...held, state: text, note: optionalText });
export const Refresh = z.strictObject({ holder: text });
export const Submit = z.strictObject({ ...heldTask, idempotency_key: text, value: json });

const completion = {
  task_id: id,
  result: json,
  summary: optionalText,
  metadata: jsonObject.nullable().optional(),
};

export const Complete = z.strictObject({
  ...completion,
  fence: fence.optional(),
  replay: z.boolean().optional(),
});
export const Finalize = z.strictObject(completion);
export const Fail = z.strictObject({ ...heldTask, reason: text, error: optionalText });
export const BlockByRun = z.strictObject({ ...heldTask, ...Block.shape });

export const Exited = z.strictObject({
  ...heldTask,
  exit: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('code'), code: z.int() }),
    z.strictObject({ kind: z.literal('signal'), signal: text }),
    z.strictObject({ kind: z.literal('unknown') }),
    z.strictObject({ kind: z.literal('timed_out'), elapsed_ms: z.number().min(0) }),
    z.strictObject({ kind: z.literal('spawn_failed'), error: text }),
  ]),
});

export const Reclaim = z.strictObject({ task_id: id, reason: optionalText });

const question = {
  question: text,
  options: z.array(text).optional(),
  allow_text: z.boolean().optional(),
};

export const Ask = z.strictObject({ ...held, ...question });
export const Park = z.union([Ask, z.strictObject({ ...held, question_id: id })]);

export const Verdict = z.union([
  z.strictObject({ option: text, author: optionalText }),
  z.strictObject({ text, author: optionalText }),
]);

export const Ack = z.strictObject({ run_id: id, fence });

export const Seen = z.strictObject({ run_id: id, fence });
export const SeenExtend = z.strictObject({ run_id: id, fence, reason: text });

/** An event as its writer gives it. The ledger judges it, and tells the field and the place of what is wrong. */
export const NewEvent = z
  .custom<LedgerEvent>(() => true)
  .meta({
    type: 'object',
    properties: {
      id: { type: 'string', maxLength: 128, description: 'Makes the append safe to repeat.' },
      type: { type: 'string' },
      at: { type: 'string', format: 'date-time' },
      task_id: { type: 'string' },
      run_id: { type: 'string' },
    },
    required: ['type'],
    additionalProperties: true,
  });

export const Position = z.strictObject({ position: jsonObject.nullable() });

/** Exact events of another ledger. */
export const Accepted = z.strictObject({
  events: z.array(NewEvent),
  /** Printed lines, in the same order: the exact texts with their hashes. */
  exact: z.array(text).optional(),
});

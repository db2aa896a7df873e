import { z } from 'zod';
import type { Answer } from '../route.ts';
import { count, fence, hash, id, json, jsonObject, seq, text, time } from './values.ts';

/** Facts that an answer may have besides those that are named. */
const facts = z.unknown();

/** What every failure looks like. */
export const ErrorBody = z.object({
  error: z.object({ code: text, message: text, hint: text }).catchall(facts),
});

/** An expected "no": nothing was written. */
export const RefusalBody = z.object({ outcome: z.literal('refused'), reason: text }).catchall(facts);

/** Nothing to claim, and why. */
export const NoneBody = z.object({ outcome: z.literal('none'), reason: text }).catchall(facts);

/** There is no such thing. */
const NotFoundBody = z.object({ outcome: z.literal('not_found') }).catchall(facts);

const status = z.enum([
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
]);

/** A command on a task was carried out. */
export function done<Outcome extends string, More extends z.ZodRawShape = Record<never, never>>(
  outcome: Outcome,
  more?: More,
) {
  return z.object({ outcome: z.literal(outcome), task_id: id, status, ...more });
}

export const Question = z.object({
  question_id: id,
  task_id: id,
  run_id: id,
  text,
  kind: z.literal('question'),
  options: z.array(text),
  allow_text: z.boolean(),
  asked_seq: seq,
  asked_at: time,
  answer: text.nullable(),
  answered_seq: seq,
  answered_at: time.nullable(),
  delivered: z.object({ mode: z.enum(['injected', 'notice']), run_id: id, at: time }).nullable(),
});

export const Claimed = z.object({
  outcome: z.literal('claimed'),
  task_id: id,
  run_id: id,
  fence,
  expires_at: time,
  pending_question: z.boolean(),
  question: Question.pick({
    question_id: true,
    run_id: true,
    text: true,
    kind: true,
    options: true,
    allow_text: true,
    asked_at: true,
  }).nullable(),
  resume_notice: text.nullable(),
});

export const Run = z.object({
  run_id: id,
  role: z.enum(['attempt', 'delegate']),
  outcome: text.nullable(),
  state: text,
  started_at: time,
  ended_at: time.nullable(),
  holder: text.nullable(),
  summary: text.nullable(),
  fence: fence.nullable(),
  synthesized: z.boolean(),
  answers_injected: count,
  resume_notice: text.nullable(),
  resume_since: text.nullable(),
  error: text.nullable(),
  metadata: jsonObject.nullable(),
});

export const Event = z
  .object({
    seq,
    id: text,
    type: text,
    at: time,
    recorded_at: time,
    epoch: count,
    hash,
    task_id: id.optional(),
    run_id: id.optional(),
  })
  .catchall(json);

/** A row: mostly its orchestrator's own. */
export const Row = z.object({ task_id: id, status: text.optional() }).catchall(json);

export const Appended = z.object({
  appended: count,
  duplicates: count,
  first_seq: seq.nullable(),
  last_seq: seq.nullable(),
  events: z.array(z.object({ id: text, seq, duplicate: z.boolean() })),
});

export const Head = z.object({ seq, hash, epoch: count, incarnation: text });

export const Deliveries = z.object({
  outcome: z.literal('offered'),
  deliveries: z.array(z.object({ question_id: id, kind: z.literal('answer'), text })),
});

/** The answer to a request that may be refused. */
export function ok(schema: z.ZodType, description = 'Done.'): Answer {
  return { description, schema };
}

/** JSON Lines. */
export function stream(line: z.ZodType, description: string): Answer {
  return { description, schema: line, lines: true };
}

/** The refusals of commands: 404 when what is named is not there. */
export const REFUSALS: Readonly<Record<number, Answer>> = {
  404: { description: 'Refused: there is no such task, run or question.', schema: RefusalBody },
  409: { description: 'Refused; nothing was written.', schema: RefusalBody },
};

/** Nothing of that id. */
export const NOT_FOUND: Readonly<Record<number, Answer>> = {
  404: { description: 'There is no such thing.', schema: NotFoundBody },
};

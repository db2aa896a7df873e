import { handoffOf } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { z } from 'zod';
import { explainTask } from '../../../explain/explain-task.ts';
import { loadRow } from '../../../load-row.ts';
import { rawObjectLine } from '../../../output/raw-report.ts';
import type { Route } from '../route.ts';
import { route } from '../route.ts';
import { NOT_FOUND, ok } from '../schemas/answers.ts';
import { ofTask } from '../schemas/requests.ts';
import {
  count,
  hash,
  id,
  json,
  jsonObject,
  queryFlag,
  queryIds,
  queryNumber,
  seq,
  text,
  time,
} from '../schemas/values.ts';
import { notFound } from './row-routes.ts';

const debts = {
  open_runs: count,
  pending_invocations: count,
  undisposed_patches: count,
  oldest_unreconciled_at: time.nullable(),
};

const finding = z.object({
  code: text,
  message: text,
  seq: seq.optional(),
  line: count.optional(),
  task_id: text.optional(),
  file: text.optional(),
});

/** Looks at what is owed, and why. */
export const LOOK_ROUTES: readonly Route[] = [
  route({
    method: 'get',
    tag: 'look',
    use: 'read',
    path: '/audit',
    summary: 'Say what tasks owe: the named ones, else those that owe something, or all.',
    query: z.strictObject({ task_id: queryIds.optional(), all: queryFlag.optional() }),
    answers: {
      200: ok(
        z.object({
          tasks: z.array(
            z.object({
              task_id: id,
              status: text.nullable(),
              terminal: z.boolean(),
              audit: jsonObject,
              stored: json,
              current: z.boolean(),
              open_attempts: z.array(id),
              open_questions: z.array(id),
              row_error: text.optional(),
            }),
          ),
          totals: z.object(debts),
          parked: z.array(jsonObject),
        }),
      ),
    },
    handle: async ({ query: { task_id, all }, ledger }) => ({
      value: await createReconciler(ledger).audit(task_id, { all: all ?? false }),
    }),
  }),
  route({
    method: 'get',
    tag: 'look',
    use: 'read',
    path: '/stats',
    summary: 'Read the figures of the ledger.',
    answers: {
      200: ok(
        z.object({
          events: count,
          tasks: count,
          runs: count,
          ...debts,
          open_questions: count,
          open_faults: count,
          cursor_lag: count,
          deferred: count,
          parked_items: count,
          last_pass: jsonObject,
        }),
      ),
    },
    handle: async ({ ledger }) => ({ value: await createReconciler(ledger).stats() }),
  }),
  route({
    method: 'get',
    tag: 'look',
    use: 'read',
    path: '/tasks/{task_id}/explain',
    summary: 'Say of every field of a row which events it rests on, and how it was healed.',
    params: ofTask,
    answers: {
      200: ok(
        z.object({
          task_id: id,
          fields: z.array(
            z.object({ field: text, value: json, frozen: z.boolean(), because: z.array(jsonObject) }),
          ),
          healed: z.array(jsonObject),
        }),
      ),
      ...NOT_FOUND,
    },
    handle: async ({ params: { task_id }, ledger }) => {
      const explained = await explainTask(ledger, task_id);
      return explained === null ? notFound({ task_id }) : { text: rawObjectLine(explained.report) };
    },
  }),
  route({
    method: 'get',
    tag: 'look',
    use: 'read',
    path: '/tasks/{task_id}/handoff',
    summary: 'Say what a model is told of the debts of a task.',
    params: ofTask,
    answers: { 200: ok(z.object({ delegated_custody: jsonObject.optional() })), ...NOT_FOUND },
    handle: async ({ params: { task_id }, ledger }) => {
      const row = await loadRow(ledger, task_id, { effective: true });
      if (row === null) return notFound({ task_id });
      const summary = handoffOf(row.value);
      return { value: summary === null ? {} : { delegated_custody: summary } };
    },
  }),
  route({
    method: 'get',
    tag: 'look',
    use: 'read',
    path: '/verify',
    summary: 'Check the log; `rebuild`: also every table against a replay. Changes nothing.',
    query: z.strictObject({
      rebuild: queryFlag.optional(),
      head_seq: queryNumber.optional(),
      head_hash: hash.optional(),
    }),
    answers: {
      200: ok(
        z.object({
          ok: z.boolean(),
          events: count,
          head_seq: seq,
          head_hash: hash,
          problems: z.array(finding),
          notes: z.array(finding),
        }),
      ),
    },
    handle: async ({ query: { rebuild, head_seq, head_hash }, ledger }) => ({
      value: await ledger.verify({
        rebuild: rebuild ?? false,
        ...(head_seq === undefined || head_hash === undefined
          ? {}
          : { expectHead: { seq: head_seq, hash: head_hash } }),
      }),
    }),
  }),
];

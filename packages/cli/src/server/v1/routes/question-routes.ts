import { z } from 'zod';
import { camelKeys } from '../camel-keys.ts';
import { linesOf } from '../json-lines.ts';
import { replyTo } from '../reply-to.ts';
import type { Route } from '../route.ts';
import { route } from '../route.ts';
import { Deliveries, ok, Question, REFUSALS, stream } from '../schemas/answers.ts';
import { Ack, ofQuestion, ofRun, Verdict } from '../schemas/requests.ts';
import { id, queryFlag, queryNumber, queryWait, text } from '../schemas/values.ts';
import { within } from '../within.ts';

/** Questions of runs, their verdicts, and how those reach runs. */
export const QUESTION_ROUTES: readonly Route[] = [
  route({
    method: 'get',
    tag: 'questions',
    use: 'read',
    path: '/questions',
    summary: 'List questions in the order in which they were raised.',
    query: z.strictObject({ task_id: id.optional(), open: queryFlag.optional() }),
    answers: { 200: stream(Question, 'A question a line.') },
    handle: async ({ query, ledger }) => ({ lines: linesOf(await ledger.questions.list(camelKeys(query))) }),
  }),
  route({
    method: 'post',
    tag: 'questions',
    use: 'command',
    path: '/questions/{question_id}/answer',
    summary: 'Give the verdict, once: one of the options, or a text where that is allowed.',
    params: ofQuestion,
    body: Verdict,
    answers: {
      200: ok(
        z.object({
          outcome: z.literal('answered'),
          question_id: id,
          task_id: id,
          answer: text,
          delivery: z.enum(['offered', 'with_next_claim']),
        }),
      ),
      ...REFUSALS,
    },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.questions.answer({ ...camelKeys(params), ...camelKeys(body) })),
  }),
  route({
    method: 'post',
    tag: 'questions',
    use: 'command',
    path: '/questions/{question_id}/ack',
    summary: 'Say that the run has taken a verdict: this is its delivery.',
    params: ofQuestion,
    body: Ack,
    answers: {
      200: ok(z.object({ outcome: z.literal('delivered'), question_id: id, replayed: z.boolean() })),
      ...REFUSALS,
    },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.questions.ack(camelKeys({ ...params, ...body }))),
  }),
  route({
    method: 'get',
    tag: 'questions',
    use: 'read',
    path: '/runs/{run_id}/deliveries',
    summary: 'List what is offered to a run; with `wait`, wait until something is.',
    params: ofRun,
    query: z.strictObject({ fence: queryNumber.optional(), wait: queryWait.optional() }),
    answers: { 200: ok(Deliveries), ...REFUSALS },
    handle: async ({ params: { run_id: runId }, query: { fence, wait }, ledger, signal }) => {
      if (fence !== undefined) {
        const offered = await ledger.questions.deliveries({ runId, fence });
        if (wait === undefined || offered.outcome === 'refused' || offered.deliveries.length > 0)
          return replyTo(offered);
      }
      const found = await within(wait ?? 1, signal, (until) =>
        ledger.waitForVerdict({ runId, signal: until }),
      );
      const nothing = { outcome: 'offered', deliveries: [] };
      return replyTo(found ?? nothing);
    },
  }),
];

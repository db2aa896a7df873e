import { z } from 'zod';
import { camelKeys } from '../camel-keys.ts';
import { replyTo } from '../reply-to.ts';
import type { Route } from '../route.ts';
import { route } from '../route.ts';
import { Claimed, done, NoneBody, ok, REFUSALS } from '../schemas/answers.ts';
import {
  Ask,
  BlockByRun,
  Claim,
  Complete,
  Exited,
  Fail,
  Finalize,
  Heartbeat,
  ofRun,
  Park,
  Push,
  Reclaim,
  Refresh,
  Submit,
} from '../schemas/requests.ts';
import { fence, id, json, queryWait, seq, text, time } from '../schemas/values.ts';
import { within } from '../within.ts';

const command = { tag: 'runs', use: 'command', method: 'post' } as const;

/** Commands of holders of managed tasks. */
export const RUN_ROUTES: readonly Route[] = [
  route({
    ...command,
    path: '/claims',
    summary: 'Ask for a task: the given one, or whatever is due.',
    query: z.strictObject({ wait: queryWait.optional() }),
    body: Claim,
    answers: {
      201: ok(Claimed, 'Claimed.'),
      404: { description: 'There is no such task.', schema: NoneBody },
      409: { description: 'There is nothing to claim, and why.', schema: NoneBody },
    },
    handle: async ({ query: { wait }, body, commands, ledger, signal }) => {
      const claim = camelKeys(body);
      const ask = () => commands.runs.claim(claim);
      if (wait === undefined) return replyTo(await ask(), 201);
      const claimed = await within(wait, signal, async (until) => {
        for (;;) {
          await ledger.waitUntilClaimable({ ...claim, signal: until });
          const answer = await ask();
          // Whoever was quicker has it; this one waits on.
          if (answer.outcome === 'claimed') return answer;
        }
      });
      return replyTo(claimed ?? (await ask()), 201);
    },
  }),
  route({
    method: 'get',
    tag: 'runs',
    use: 'read',
    path: '/work',
    summary: 'Say whether there is something to claim, and wait for it. Claims nothing.',
    query: z.strictObject({ holder: text, task_id: id.optional(), wait: queryWait.optional() }),
    answers: { 200: ok(z.object({ claimable: z.boolean() })) },
    handle: async ({ query: { wait = 1, ...asked }, ledger, signal }) => {
      const found = await within(wait, signal, (until) =>
        ledger.waitUntilClaimable({ ...camelKeys(asked), signal: until }).then(() => true),
      );
      return { value: { claimable: found === true } };
    },
  }),
  route({
    ...command,
    path: '/runs/{run_id}/heartbeat',
    summary: 'Give a sign of life.',
    params: ofRun,
    body: Heartbeat,
    answers: { 200: ok(z.object({ outcome: z.literal('extended'), expires_at: time })), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.runs.heartbeat(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/runs/{run_id}/push',
    summary: 'Report a state; a sign of life as well.',
    params: ofRun,
    body: Push,
    answers: { 200: ok(z.object({ outcome: z.literal('recorded') })), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.runs.push(camelKeys({ ...params, ...body }))),
  }),
  route({
    method: 'post',
    tag: 'runs',
    use: 'write',
    path: '/runs/{run_id}/refresh',
    summary: 'Ask for the current fence of a run; only its holder is told.',
    params: ofRun,
    body: Refresh,
    answers: {
      200: ok(z.object({ outcome: z.literal('refreshed'), fence, expires_at: time })),
      ...REFUSALS,
    },
    handle: async ({ params, body, ledger }) =>
      replyTo(await ledger.runs.refresh(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/runs/{run_id}/submit',
    summary: 'Hand in the outcome of a step exactly once; the same key answers what was stored.',
    params: ofRun,
    body: Submit,
    answers: {
      200: ok(z.object({ outcome: z.literal('applied'), replayed: z.boolean(), value: json })),
      ...REFUSALS,
    },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.runs.submit(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/runs/{run_id}/complete',
    summary: 'Complete a task by the run that holds it, or by a replay of the run that held it last.',
    params: ofRun,
    body: Complete,
    answers: {
      200: ok(
        z.object({ outcome: z.literal('completed'), task_id: id, run_id: id, replayed: z.boolean(), seq }),
      ),
      ...REFUSALS,
    },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.runs.complete(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/runs/{run_id}/finalize',
    summary: 'Turn a result that was kept in a journal into the completion of its task.',
    params: ofRun,
    body: Finalize,
    answers: {
      200: ok(z.object({ outcome: z.enum(['applied', 'already_applied']), task_id: id, run_id: id })),
      ...REFUSALS,
    },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.runs.finalize(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/runs/{run_id}/fail',
    summary: 'End a task as failed: it can not be done.',
    params: ofRun,
    body: Fail,
    answers: { 200: ok(done('failed')), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.runs.fail(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/runs/{run_id}/block',
    summary: 'Hold a task up; the run ends.',
    params: ofRun,
    body: BlockByRun,
    answers: { 200: ok(done('blocked')), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.runs.block(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/runs/{run_id}/exited',
    summary: 'Report that the process of a run ended without a word about the task.',
    params: ofRun,
    body: Exited,
    answers: { 200: ok(done('ended')), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.runs.exited(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/runs/{run_id}/reclaim',
    summary:
      'Take a task away from exactly this run; its process is stopped if it is on the host of the server.',
    params: ofRun,
    body: Reclaim,
    answers: { 200: ok(done('reclaimed', { run_id: id })), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.runs.reclaim(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/runs/{run_id}/ask',
    summary: 'Raise a question and go on.',
    params: ofRun,
    body: Ask,
    answers: {
      201: ok(z.object({ outcome: z.literal('asked'), task_id: id, question_id: id }), 'Asked.'),
      ...REFUSALS,
    },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.runs.ask(camelKeys({ ...params, ...body })), 201),
  }),
  route({
    ...command,
    path: '/runs/{run_id}/park',
    summary: 'End the run until a person has answered: a new question, or one that was asked already.',
    params: ofRun,
    body: Park,
    answers: { 200: ok(done('parked', { question_id: id })), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.runs.park({ ...camelKeys(params), ...camelKeys(body) })),
  }),
];

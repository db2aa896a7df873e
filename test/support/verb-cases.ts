import type { Claimed, ManagedCommands } from '@custody/ledger';
import type { Desk } from './managed.ts';
import { heldBy } from './managed.ts';

/** One verb of managed tasks: what must be there before it, and how it is asked for. */
export interface VerbCase {
  readonly verb: string;
  /** Brings the task `t-1` to where the verb can be used. */
  prepare(desk: Desk): Promise<Claimed | null>;
  ask(commands: ManagedCommands, run: Claimed): Promise<{ readonly outcome: string }>;
  /** Events that it writes when it is carried out. */
  readonly events: number;
}

/** What verbs are given that need no run. */
export const NO_RUN: Claimed = {
  outcome: 'claimed',
  task_id: 't-1',
  run_id: 'none',
  fence: 1,
  expires_at: '',
  pending_question: false,
  question: null,
  resume_notice: null,
};

const claimed = (desk: Desk) => desk.claim('t-1');
const nothing = () => Promise.resolve(null);
const none = (): never => {
  throw new Error('this verb needs no run');
};

/** Every verb that writes, in a place where it is carried out. */
export const VERB_CASES: readonly VerbCase[] = [
  { verb: 'create', prepare: nothing, ask: ({ tasks }) => tasks.create({ title: 'new' }), events: 1 },
  {
    verb: 'link',
    prepare: async (desk) => {
      await desk.ledger.tasks.create({ taskId: 't-0', title: 'first' });
      return null;
    },
    ask: ({ tasks }) => tasks.link({ taskId: 't-1', parentId: 't-0' }),
    events: 1,
  },
  {
    verb: 'assign',
    prepare: nothing,
    ask: ({ tasks }) => tasks.assign({ taskId: 't-1', assignee: 'bob' }),
    events: 1,
  },
  {
    verb: 'comment',
    prepare: nothing,
    ask: ({ tasks }) => tasks.comment({ taskId: 't-1', author: 'ann', body: 'hm' }),
    events: 1,
  },
  { verb: 'block', prepare: nothing, ask: ({ tasks }) => tasks.block({ taskId: 't-1' }), events: 1 },
  {
    verb: 'block with a reason',
    prepare: nothing,
    ask: ({ tasks }) => tasks.block({ taskId: 't-1', reason: 'no key' }),
    events: 2,
  },
  {
    verb: 'unblock',
    prepare: async (desk) => {
      await desk.claimAndBlock('t-1');
      return null;
    },
    ask: ({ tasks }) => tasks.unblock({ taskId: 't-1' }),
    events: 1,
  },
  {
    verb: 'specify',
    prepare: async (desk) => {
      await desk.toTriage('t-1');
      return null;
    },
    ask: ({ tasks }) => tasks.specify({ taskId: 't-1', title: 'clearer', author: 'ann' }),
    events: 3,
  },
  {
    verb: 'decompose',
    prepare: async (desk) => {
      await desk.toTriage('t-1');
      return null;
    },
    ask: ({ tasks }) => tasks.decompose({ taskId: 't-1', children: [{ title: 'a' }, { title: 'b' }] }),
    events: 5,
  },
  {
    verb: 'promote',
    prepare: async (desk) => {
      await desk.claimAndBlock('t-1');
      return null;
    },
    ask: ({ tasks }) => tasks.promote({ taskId: 't-1', actor: 'ann' }),
    events: 1,
  },
  {
    verb: 'complete by an operator',
    prepare: nothing,
    ask: ({ tasks }) => tasks.complete({ taskId: 't-1', operator: 'ann', result: 'done' }),
    events: 2,
  },
  { verb: 'cancel', prepare: nothing, ask: ({ tasks }) => tasks.cancel({ taskId: 't-1' }), events: 1 },
  { verb: 'archive', prepare: nothing, ask: ({ tasks }) => tasks.archive({ taskId: 't-1' }), events: 1 },
  { verb: 'claim', prepare: nothing, ask: ({ runs }) => runs.claim({ holder: 'worker' }), events: 1 },
  {
    verb: 'push',
    prepare: claimed,
    ask: ({ runs }, run) => runs.push({ ...heldBy(run), state: 'working' }),
    events: 1,
  },
  {
    verb: 'submit',
    prepare: claimed,
    ask: ({ runs }, run) => runs.submit({ ...heldBy(run), idempotencyKey: 't-1:0', value: 'ok' }),
    events: 1,
  },
  {
    verb: 'complete',
    prepare: claimed,
    ask: ({ runs }, run) => runs.complete({ ...heldBy(run), result: 'done' }),
    events: 1,
  },
  {
    verb: 'finalize',
    prepare: claimed,
    ask: ({ runs }, run) => runs.finalize({ taskId: 't-1', runId: run.run_id, result: 'done' }),
    events: 1,
  },
  {
    verb: 'fail',
    prepare: claimed,
    ask: ({ runs }, run) => runs.fail({ ...heldBy(run), reason: 'impossible' }),
    events: 1,
  },
  {
    verb: 'block by a run',
    prepare: claimed,
    ask: ({ runs }, run) => runs.block({ ...heldBy(run), reason: 'no key', kind: 'needs_input' }),
    events: 1,
  },
  {
    verb: 'exited',
    prepare: claimed,
    ask: ({ runs }, run) => runs.exited({ ...heldBy(run), exit: { kind: 'code', code: 1 } }),
    events: 1,
  },
  {
    verb: 'reclaim',
    prepare: claimed,
    ask: ({ runs }, run) => runs.reclaim({ taskId: 't-1', runId: run.run_id, reason: 'stuck' }),
    events: 1,
  },
  {
    verb: 'ask',
    prepare: claimed,
    ask: ({ runs }, run) => runs.ask({ ...heldBy(run), question: 'Which?', options: ['A', 'B'] }),
    events: 1,
  },
  {
    verb: 'park',
    prepare: claimed,
    ask: ({ runs }, run) => runs.park({ ...heldBy(run), question: 'Which?', options: ['A', 'B'] }),
    events: 2,
  },
  {
    verb: 'answer',
    prepare: async (desk) => {
      const run = await desk.claim('t-1');
      await desk.ledger.once('question').runs.ask({ ...heldBy(run), question: 'Which?', options: ['A'] });
      return run;
    },
    ask: async ({ questions }) => {
      const [question] = await questions.list({ taskId: 't-1' });
      return questions.answer({ questionId: question?.question_id ?? none(), option: 'A' });
    },
    events: 1,
  },
  {
    verb: 'ack',
    prepare: async (desk) => {
      const run = await desk.claim('t-1');
      const asked = await desk.ledger.runs.ask({ ...heldBy(run), question: 'Which?', options: ['A'] });
      if (asked.outcome === 'asked')
        await desk.ledger.questions.answer({ questionId: asked.question_id, option: 'A' });
      return run;
    },
    ask: async ({ questions }, run) => {
      const [question] = await questions.list({ taskId: 't-1' });
      return questions.ack({ ...heldBy(run), questionId: question?.question_id ?? none() });
    },
    events: 2,
  },
  {
    verb: 'release',
    prepare: async (desk) => {
      const run = await desk.claim('t-1', { ttlMs: 1000 });
      desk.clock.advance(10_000);
      return run;
    },
    ask: ({ leases }, run) => leases.release({ taskId: 't-1', runId: run.run_id, fence: run.fence }),
    events: 1,
  },
  {
    verb: 'extend',
    prepare: async (desk) => {
      const run = await desk.claim('t-1', { ttlMs: 1000 });
      desk.clock.advance(10_000);
      return run;
    },
    ask: ({ leases }, run) =>
      leases.extend({ taskId: 't-1', runId: run.run_id, fence: run.fence }, 'process_alive'),
    events: 1,
  },
  {
    verb: 'lost',
    prepare: claimed,
    ask: ({ leases }, run) => leases.lost({ taskId: 't-1', runId: run.run_id, fence: run.fence }),
    events: 1,
  },
];

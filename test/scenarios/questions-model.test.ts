import type { Claimed, Ledger } from '@custody/ledger';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StoreKind } from '../contract/stores.ts';
import { collect } from '../support/collect.ts';
import { MANAGING_STORES } from '../support/managed.ts';
import { manualClock } from '../support/manual-clock.ts';

const TASKS = ['t-1', 't-2'];
const HOLDERS = ['h-1', 'h-2'];
const OPTIONS = ['yes', 'no'];

/** One step of a history. Numbers pick among what is there, so that most steps mean something. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ act: fc.constant('claim' as const), pick: fc.nat(3) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('ask' as const), pick: fc.nat(9) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('park' as const), pick: fc.nat(9) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('park_asked' as const), pick: fc.nat(9) }) },
  { weight: 6, arbitrary: fc.record({ act: fc.constant('answer' as const), pick: fc.nat(9) }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant('ack' as const), pick: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('look' as const), pick: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('push' as const), pick: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('exit' as const), pick: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('sweep' as const), pick: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('wait' as const), pick: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('unblock' as const), pick: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('restart' as const), pick: fc.nat(1) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** What was heard: by whom, and how. The model of a delivery is what runs were really told. */
interface Heard {
  readonly questionId: string;
  readonly runId: string;
}

interface World {
  ledger: Ledger;
  readonly clock: ReturnType<typeof manualClock>;
  readonly restart: () => Promise<Ledger>;
  /** Every claim that was granted; old ones write under stale fences. */
  readonly runs: Claimed[];
  readonly questions: string[];
  readonly answers: Map<string, string>;
  readonly heard: Heard[];
}

function picked<T>(items: readonly T[], pick: number): T | undefined {
  // From the end: the newest are the ones that something can still be done with.
  return items.length === 0 ? undefined : items[items.length - 1 - (pick % items.length)];
}

/** Each answer is unlike any other, so that a notice tells by its text whose verdicts it brings. */
function notePicked(world: World, claimed: Claimed): void {
  world.runs.push(claimed);
  for (const line of claimed.resume_notice?.split('\n') ?? []) {
    const [questionId] = [...world.answers].find(([, text]) => line === `Human selected: ${text}`) ?? [];
    if (questionId === undefined) throw new Error(`a notice tells what nobody answered: ${line}`);
    world.heard.push({ questionId, runId: claimed.run_id });
  }
}

async function claim(world: World, pick: number): Promise<void> {
  const holder = HOLDERS[pick % 2] ?? '';
  const taskId = pick > 1 ? TASKS[pick % 2] : undefined;
  const answer = await world.ledger.runs.claim({ holder, ...(taskId === undefined ? {} : { taskId }) });
  if (answer.outcome === 'claimed') notePicked(world, answer);
}

/** A run that says twice that it heard a verdict has heard it once. */
async function acknowledge(world: World, run: Claimed, questionId: string): Promise<void> {
  const held = { runId: run.run_id, fence: run.fence };
  const answer = await world.ledger.questions.ack({ ...held, questionId });
  if (answer.outcome === 'delivered' && !answer.replayed) world.heard.push({ questionId, runId: run.run_id });
}

async function report(world: World, { act, pick }: Step): Promise<void> {
  const run = picked(world.runs, pick % 4);
  if (run === undefined) return;
  const held = { runId: run.run_id, fence: run.fence };
  const question = { question: `q ${world.questions.length}`, options: OPTIONS, allowText: true };
  const questionId = picked(world.questions, pick) ?? 'q-none';
  const { questions, runs } = world.ledger;
  if (act === 'ask') {
    const answer = await runs.ask({ ...held, ...question });
    if (answer.outcome === 'asked') world.questions.push(answer.question_id);
  } else if (act === 'park') {
    const answer = await runs.park({ ...held, ...question });
    if (answer.outcome === 'parked') world.questions.push(answer.question_id);
  } else if (act === 'park_asked') await runs.park({ ...held, questionId });
  else if (act === 'ack') await acknowledge(world, run, questionId);
  else if (act === 'look') await questions.deliveries(held);
  else if (act === 'push') await runs.push({ ...held, state: 'working' });
  else await runs.exited({ taskId: run.task_id, ...held, exit: { kind: 'code', code: 75 } });
}

async function sweep({ ledger }: World): Promise<void> {
  for (const task of await ledger.leases.running()) {
    if (task.lease === null) await ledger.leases.requeueOrphan(task.task_id);
    else
      await ledger.leases.release({
        taskId: task.task_id,
        runId: task.lease.run_id,
        fence: task.lease.fence,
      });
  }
}

async function answer(world: World, questionId: string | undefined): Promise<void> {
  if (questionId === undefined) return;
  const text = `answer ${world.answers.size} of ${questionId}`;
  const given = await world.ledger.questions.answer({ questionId, text });
  if (given.outcome === 'answered') world.answers.set(questionId, text);
}

async function act(world: World, given: Step): Promise<void> {
  switch (given.act) {
    case 'claim':
      return claim(world, given.pick);
    case 'answer':
      return answer(world, picked(world.questions, given.pick));
    case 'sweep':
      return sweep(world);
    case 'wait':
      return world.clock.advance([1, 1_000, 5_001, 60_000, 121_000, 1_000_000][given.pick] ?? 1);
    case 'unblock':
      await world.ledger.tasks.unblock({ taskId: TASKS[given.pick] ?? '' });
      return;
    case 'restart':
      world.ledger = await world.restart();
      return;
    case 'ack':
    case 'ask':
    case 'exit':
    case 'look':
    case 'park':
    case 'park_asked':
    case 'push':
      return report(world, given);
  }
}

/** Answers whatever is open, and lets every run end so that the next claim must bring what is undelivered. */
async function runDown(world: World): Promise<void> {
  for (const questionId of world.questions) await answer(world, questionId);
  for (let round = 0; round < 10; round += 1) {
    world.clock.advance(1_000_000);
    for (const taskId of TASKS) {
      const claimed = await world.ledger.runs.claim({ holder: 'h-1', taskId });
      if (claimed.outcome === 'claimed') notePicked(world, claimed);
      const current = (await world.ledger.tasks.get(taskId))?.runs.at(-1);
      if (current?.ended_at === null)
        await world.ledger.runs.reclaim({ taskId, runId: current.run_id, reason: 'next' });
    }
  }
}

async function check(world: World): Promise<void> {
  const questions = await world.ledger.questions.list();
  expect(new Set(questions.map((question) => question.question_id))).toEqual(new Set(world.questions));
  expect(questions).toHaveLength(world.questions.length);
  // None is lost, and none was heard twice, by the ledger's own word and by what runs were told.
  for (const question of questions) {
    const heard = world.heard.filter((item) => item.questionId === question.question_id);
    expect(heard).toEqual([{ questionId: question.question_id, runId: question.delivered?.run_id }]);
    expect(question.answer).toBe(world.answers.get(question.question_id));
  }
  const delivered = await collect(world.ledger.read({ type: 'verdict.delivered' }));
  expect(delivered).toHaveLength(questions.length);
  for (const taskId of TASKS) {
    const told = questions.filter((question) => question.task_id === taskId);
    const runs = (await world.ledger.tasks.get(taskId))?.runs ?? [];
    const injected = told.filter((question) => question.delivered?.mode === 'injected');
    expect(runs.reduce((sum, run) => sum + run.answers_injected, 0)).toBe(injected.length);
    expect(runs.flatMap((run) => run.resume_notice?.split('\n') ?? [])).toHaveLength(
      told.length - injected.length,
    );
  }
  expect(await world.ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
}

async function live(kind: StoreKind, history: readonly Step[]): Promise<void> {
  const clock = manualClock();
  const store = await kind.open({ clock });
  const world: World = {
    ledger: store.ledger,
    clock,
    restart: async () => (kind.isDurable ? store.reopen() : store.ledger),
    runs: [],
    questions: [],
    answers: new Map(),
    heard: [],
  };
  try {
    for (const taskId of TASKS) await store.ledger.tasks.create({ taskId, title: 'work', maxRetries: 1_000 });
    for (const given of history) await act(world, given);
    await runDown(world);
    await check(world);
  } finally {
    await store.dispose();
  }
}

describe.each(MANAGING_STORES)('questions on $name', (kind) => {
  const histories = kind.isDurable ? 50 : 2_000;

  test(`P12 in ${histories} random histories every verdict is delivered exactly once, and none is left after ten further claims`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), (history) => live(kind, history)),
      { numRuns: histories, seed: 20260301 },
    );
  }, 300_000);
});

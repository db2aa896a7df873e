import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import type { z } from 'zod';
import type { CliBench } from '../support/cli.ts';
import { CLI_BIN, cliBench, finished, shaped } from '../support/cli.ts';
import { done, held, refused, runsOf, underFence } from '../support/cli-managed.ts';
import { MANAGED_CLI_SCHEMAS } from '../support/cli-managed-schemas.ts';

/** Long enough for one claim to come within it on a busy machine. */
const SETTLE_MS = 6_000;

type Question = z.output<(typeof MANAGED_CLI_SCHEMAS)['question list']>;
type Claimed = z.output<(typeof MANAGED_CLI_SCHEMAS)['run claim']>;

async function questions(bench: CliBench, ...args: readonly string[]): Promise<readonly Question[]> {
  const lines = await bench.lines(['question', 'list', ...args]);
  return lines.map((line) => shaped(MANAGED_CLI_SCHEMAS['question list'], line));
}

/** A holder that asks and then works on, in a process group that can be killed as a whole. */
async function askAndDie(bench: CliBench, run: Claimed): Promise<string> {
  const script = `"$@"; echo asked; sleep 600`;
  const ask = ['--json', 'run', 'ask', ...underFence(run), '--question', 'Which database?'];
  const holder = spawn(
    'sh',
    ['-c', script, 'sh', process.execPath, CLI_BIN, ...ask, '--option', 'SQLite', '--option', 'Postgres'],
    { cwd: bench.dir, detached: true, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const gone = once(holder, 'close');
  onTestFinished(() => {
    if (holder.exitCode === null && holder.signalCode === null) process.kill(-(holder.pid ?? 0), 'SIGKILL');
  });
  let printed = '';
  for await (const piece of holder.stdout) {
    printed += String(piece);
    if (printed.endsWith('asked\n')) break;
  }
  process.kill(-(holder.pid ?? 0), 'SIGKILL');
  await gone;
  const answer = JSON.parse(printed.slice(0, printed.lastIndexOf('asked\n'))) as unknown;
  return shaped(MANAGED_CLI_SCHEMAS['run ask'], answer).question_id;
}

/** Claims again and again until it is granted. */
async function claimWhenSettled(bench: CliBench): Promise<Claimed> {
  for (;;) {
    const { code, value } = await bench.json(['run', 'claim', '--holder', 'alice']);
    if (code === 0) return shaped(MANAGED_CLI_SCHEMAS['run claim'], value);
    expect(code).toBe(1);
  }
}

test('Q1 to Q11 a task is parked, answered, crashed, resumed and completed, each step in a process of its own', async () => {
  const bench = cliBench();
  const settings = ['--set', 'CUSTODY_CRASH_GRACE=0s', '--set', `CUSTODY_PARK_SETTLE=${SETTLE_MS}ms`];
  expect((await bench.json(['init', ...settings])).code).toBe(0);
  await done(bench, 'task create', '--id', 'task-1', '--title', 'Steer');

  // Q1, Q2, Q3
  const first = await done(bench, 'run claim', '--holder', 'alice');
  expect(first).toMatchObject({ pending_question: false, question: null, resume_notice: null });
  const options = ['--option', 'Port', '--option', 'Starboard'];
  const park = await done(
    bench,
    'run park',
    ...underFence(first),
    '--question',
    'Which side first?',
    ...options,
  );
  expect(park).toMatchObject({ task_id: 'task-1', status: 'blocked' });
  expect(await runsOf(bench, 'task-1')).toMatchObject([{ outcome: 'parked', state: 'ended' }]);
  expect((await bench.json(['run', 'claim', '--holder', 'alice'])).code).toBe(1);
  expect(await refused(bench, 'run', 'claim', '--holder', 'alice', '--task', 'task-1')).toMatchObject({
    outcome: 'none',
    reason: 'question_open',
    question: { question_id: park.question_id, options: ['Port', 'Starboard'] },
  });
  expect((await bench.json(['stats'])).value).toMatchObject({ open_questions: 1 });
  expect((await bench.json(['audit'])).value).toMatchObject({
    tasks: [{ task_id: 'task-1', open_questions: [park.question_id] }],
  });
  expect((await bench.json(['inspect', 'task', 'task-1'])).value).toMatchObject({
    obligations: { open_question_ids: [park.question_id], undelivered_question_ids: [] },
  });

  // Q5
  const port = await done(bench, 'question answer', park.question_id, '--option', 'Port');
  expect(port).toMatchObject({ delivery: 'with_next_claim' });
  expect((await bench.json(['stats'])).value).toMatchObject({ open_questions: 0 });
  expect((await bench.json(['inspect', 'task', 'task-1'])).value).toMatchObject({
    obligations: { open_question_ids: [], undelivered_question_ids: [park.question_id] },
  });
  const second = await done(bench, 'run claim', '--holder', 'alice');
  expect(second).toMatchObject({ resume_notice: 'Human selected: Port', pending_question: false });

  // Q6
  const database = await askAndDie(bench, second);
  const diedAt = performance.now();
  expect(await refused(bench, 'run', 'claim', '--holder', 'alice', '--task', 'task-1')).toMatchObject({
    outcome: 'none',
    reason: 'in_flight',
  });
  expect(performance.now() - diedAt).toBeLessThan(SETTLE_MS);
  expect((await runsOf(bench, 'task-1')).at(-1)).toMatchObject({ run_id: second.run_id, ended_at: null });

  // Q7
  const third = await claimWhenSettled(bench);
  expect(third).toMatchObject({
    task_id: 'task-1',
    pending_question: true,
    question: { question_id: database, text: 'Which database?' },
    resume_notice: null,
  });
  expect((await runsOf(bench, 'task-1')).map((run) => run.outcome)).toEqual(['parked', 'stopped', null]);

  // Q8
  await done(bench, 'run push', ...underFence(third), '--state', 'working');
  expect(await done(bench, 'question answer', database, '--option', 'SQLite')).toMatchObject({
    delivery: 'offered',
  });
  for (const _again of [1, 2])
    expect(await done(bench, 'question deliveries', ...underFence(third))).toMatchObject({
      deliveries: [{ question_id: database, kind: 'answer', text: 'Human selected: SQLite' }],
    });
  expect(await done(bench, 'question ack', database, ...underFence(third))).toMatchObject({
    replayed: false,
  });
  expect(await done(bench, 'question ack', database, ...underFence(third))).toMatchObject({ replayed: true });
  expect((await done(bench, 'question deliveries', ...underFence(third))).deliveries).toEqual([]);
  expect((await runsOf(bench, 'task-1')).at(-1)).toMatchObject({ answers_injected: 1, resume_notice: null });
  const remarks = await bench.lines(['event', 'list', '--task', 'task-1', '--type', 'task.commented']);
  expect(remarks).toMatchObject([
    { body: `verdict delivered into the running session (block #${database})`, run_id: third.run_id },
  ]);

  // Q9, Q10
  const ask = await done(
    bench,
    'run ask',
    ...underFence(third),
    '--question',
    'Final check?',
    '--option',
    'Ship',
  );
  const final = await done(bench, 'run park', ...underFence(third), '--question-id', ask.question_id);
  expect(final).toMatchObject({ question_id: ask.question_id, status: 'blocked' });
  expect((await bench.json(['run', 'claim', '--holder', 'alice'])).code).toBe(1);
  expect(await questions(bench, '--open')).toMatchObject([{ question_id: ask.question_id, answer: null }]);
  await done(bench, 'question answer', ask.question_id, '--option', 'Ship', '--author', 'ann');
  const fourth = await done(bench, 'run claim', '--holder', 'bob');
  expect(fourth).toMatchObject({ resume_notice: 'Human selected: Ship', pending_question: false });
  const resumed = (await runsOf(bench, 'task-1')).at(-1);
  expect(resumed).toMatchObject({ resume_notice: 'Human selected: Ship', resume_since: expect.any(String) });

  // Q11
  await done(bench, 'run complete', ...held(fourth), '--result', 'steered');
  expect((await bench.json(['task', 'get', 'task-1'])).value).toMatchObject({ status: 'completed' });
  expect(
    (await questions(bench, '--task', 'task-1')).map((item) => [item.answer, item.delivered?.mode]),
  ).toEqual([
    ['Port', 'notice'],
    ['SQLite', 'injected'],
    ['Ship', 'notice'],
  ]);
  expect((await bench.json(['verify', '--rebuild'])).code).toBe(0);
});

test('Q15 wrong answers are refused with what is true, and wrong usage writes nothing', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'task-1', '--title', 'Steer');
  const run = await done(bench, 'run claim', '--holder', 'alice');
  const park = ['run', 'park', ...underFence(run)];

  for (const args of [
    park,
    [...park, '--question', 'Q', '--question-id', 'q-1'],
    [...park, '--question-id', 'q-1', '--option', 'A'],
    [...park, '--question', 'Q', '--option', 'A', '--option', 'A'],
    ['run', 'ask', ...underFence(run), '--question', 'Q', '--option', ' '],
    ['question', 'answer', 'q-1'],
    ['question', 'answer', 'q-1', '--option', 'A', '--text', 'B'],
    ['question', 'answer', '..', '--option', 'A'],
    ['question', 'ack', '', ...underFence(run)],
    ['question', 'deliveries', '--run', run.run_id, '--fence', '0'],
  ])
    expect({ args, code: (await bench.json(args)).code }).toEqual({ args, code: 2 });

  expect(await refused(bench, ...park, '--question-id', 'q-none')).toMatchObject({
    reason: 'no_such_question',
  });
  const { question_id: id } = await done(
    bench,
    'run park',
    ...underFence(run),
    '--question',
    'Q',
    '--option',
    'A',
  );
  expect(await refused(bench, 'question', 'answer', 'q-none', '--option', 'A')).toMatchObject({
    reason: 'no_such_question',
  });
  expect(await refused(bench, 'question', 'answer', id, '--option', 'B')).toMatchObject({
    reason: 'invalid_option',
    options: ['A'],
  });
  await done(bench, 'question answer', id, '--option', 'A');
  expect(await refused(bench, 'question', 'answer', id, '--option', 'A')).toMatchObject({
    reason: 'already_answered',
    answer: 'A',
  });
  expect(
    (await bench.json(['question', 'list'], { env: { CUSTODY_STORE: `jsonl:${bench.path('root')}` } })).code,
  ).toBe(2);
});

test('P1 a park that is killed at any instant is there as a whole or not at all', async () => {
  const bench = cliBench();
  const found = new Set<string>();
  await done(bench, 'task create', '--id', 'task-0', '--title', 'Warm');
  const span = await timeOf(() => done(bench, 'run claim', '--holder', 'alice', '--task', 'task-0'));
  for (let round = 1; round <= 12; round += 1) {
    const taskId = `task-${round}`;
    await done(bench, 'task create', '--id', taskId, '--title', 'Steer');
    const run = await done(bench, 'run claim', '--holder', 'alice', '--task', taskId);
    const parker = bench.start(['run', 'park', ...underFence(run), '--question', 'Q', '--option', 'A']);
    const killer = setTimeout(() => parker.kill('SIGKILL'), span * (0.3 + round / 12));
    await finished(parker);
    clearTimeout(killer);

    const [asked] = await questions(bench, '--task', taskId);
    const outcome = (await runsOf(bench, taskId)).at(-1)?.outcome ?? null;
    const { value } = await bench.json(['task', 'get', taskId]);
    found.add(String(outcome));
    expect({ asked: asked !== undefined, outcome, value }).toMatchObject(
      outcome === null
        ? { asked: false, value: { status: 'running', current_run_id: run.run_id } }
        : { asked: true, outcome: 'parked', value: { status: 'blocked', current_run_id: null } },
    );
  }
  expect(found).toEqual(new Set(['null', 'parked']));
  expect((await bench.json(['verify', '--rebuild'])).code).toBe(0);
});

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

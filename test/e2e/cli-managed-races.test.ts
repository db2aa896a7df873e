import { expect, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { cliBench, shaped } from '../support/cli.ts';
import { done, held, runsOf } from '../support/cli-managed.ts';
import { REFUSAL_SCHEMA } from '../support/cli-schemas.ts';

const PROCESSES = 6;

/** Runs a command in several processes at once; each either did it or was refused. */
async function atOnce(bench: CliBench, argsOf: (index: number) => readonly string[]) {
  const answers = await Promise.all(
    Array.from({ length: PROCESSES }, (_, index) => bench.json(argsOf(index))),
  );
  const winners = answers.filter((answer) => answer.code === 0);
  const losers = answers.filter((answer) => answer.code !== 0);
  expect(losers.map((answer) => answer.code)).toEqual(losers.map(() => 1));
  return { winners, reasons: losers.map((answer) => shaped(REFUSAL_SCHEMA, answer.value).reason) };
}

test('of processes that create, claim or complete one task at once, exactly one does it, also while the store is made', async () => {
  const bench = cliBench();

  const created = await atOnce(bench, () => ['task', 'create', '--id', 'a', '--title', 'One']);
  const claimed = await atOnce(bench, (index) => ['run', 'claim', '--holder', `worker-${index}`]);
  const [attempt] = await runsOf(bench, 'a');
  const holder = { task_id: 'a', run_id: attempt?.run_id ?? '', fence: attempt?.fence ?? 0 };
  const completed = await atOnce(bench, (index) => [
    ...['run', 'complete', ...held(holder)],
    ...['--result', `result ${index}`],
  ]);

  const losers = PROCESSES - 1;
  expect(created.winners).toHaveLength(1);
  expect(created.reasons).toEqual(Array.from({ length: losers }, () => 'task_exists'));
  expect(claimed.winners).toHaveLength(1);
  expect(claimed.reasons).toEqual(Array.from({ length: losers }, () => 'nothing_claimable'));
  expect(completed.winners).toHaveLength(1);
  expect(completed.reasons).toEqual(Array.from({ length: losers }, () => 'stale_fence'));
  expect(await runsOf(bench, 'a')).toHaveLength(1);
  expect(await bench.lines(['event', 'list'])).toHaveLength(3);
  expect((await bench.json(['verify', '--rebuild'])).code).toBe(0);
});

test('of processes that submit one step at once, one applies it and the others are told what is stored', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'a', '--title', 'One');
  const run = await done(bench, 'run claim', '--holder', 'alice');

  const { winners } = await atOnce(bench, () => [
    ...['run', 'submit', ...held(run)],
    ...['--key', 'a:step-0', '--value', 'v'],
  ]);

  expect(winners).toHaveLength(PROCESSES);
  expect(winners.filter(({ value }) => (value as { replayed: boolean }).replayed)).toHaveLength(
    PROCESSES - 1,
  );
  expect(await bench.lines(['event', 'list', '--type', 'run.submitted'])).toHaveLength(1);
});

test('of processes that recover one folder at once, one applies each result', async () => {
  const bench = cliBench();
  const ids = ['a', 'b', 'c'];
  for (const id of ids) {
    await done(bench, 'task create', '--id', id, '--title', id);
    const run = await done(bench, 'run claim', '--holder', 'alice', '--task', id);
    const entry = ['--dir', 'journals', '--task', id, '--run', run.run_id, '--result', `result of ${id}`];
    await done(bench, 'journal write', ...entry);
  }

  const { winners } = await atOnce(bench, () => ['journal', 'recover', 'journals']);

  const counts = winners.map(({ value }) => value as { applied: number; conflict: number; stale: number });
  expect(counts.reduce((sum, count) => sum + count.applied, 0)).toBe(ids.length);
  expect(counts.reduce((sum, count) => sum + count.conflict + count.stale, 0)).toBe(0);
  expect(await bench.lines(['event', 'list', '--type', 'task.completed'])).toHaveLength(ids.length);
});

test('the loop recovers the journals that it is given', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'a', '--title', 'One');
  const run = await done(bench, 'run claim', '--holder', 'alice');
  const entry = ['--dir', 'journals', '--task', 'a', '--run', run.run_id, '--result', 'kept'];
  await done(bench, 'journal write', ...entry);

  const passes = await bench.lines(['reconcile', '--once', '--journal', 'journals']);

  expect(passes).toMatchObject([
    { trigger: 'boot_backfill' },
    { trigger: 'sweep_refresh', journals: { applied: 1, errors: [] } },
  ]);
  expect((await bench.json(['task', 'get', 'a'])).value).toMatchObject({
    status: 'completed',
    result: 'kept',
  });
});

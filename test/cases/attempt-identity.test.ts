import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { callApi } from '../support/api-calls.ts';
import { cliBench } from '../support/cli.ts';
import { done, held, refused, underFence } from '../support/cli-managed.ts';
import { heldBy, MANAGING_STORES, openDesk, openDeskWithTask } from '../support/managed.ts';
import { openApi } from '../support/open-api.ts';

describe.each(MANAGING_STORES)('which attempt writes, on $name', (kind) => {
  test('F-01 and F-08: an attempt that crashed can neither end nor extend its retry, and is told so', async () => {
    const { desk, ledger, exit } = await openDeskWithTask(kind);
    const first = await desk.claim('t-1');
    await exit(first, { kind: 'signal', signal: 'SIGSEGV' });
    const second = await desk.claim('t-1');
    const before = await desk.everything();

    const answers = [
      await ledger.runs.complete({ ...heldBy(first), result: 'late' }),
      await ledger.runs.block({ ...heldBy(first), reason: 'late' }),
      await ledger.runs.heartbeat(heldBy(first)),
    ];

    expect(answers).toMatchObject(
      answers.map(() => ({
        outcome: 'refused',
        reason: 'stale_fence',
        run_outcome: 'crashed',
        current_run_id: second.run_id,
      })),
    );
    expect(await desk.everything()).toBe(before);
  });

  test.each([
    ['missing', undefined],
    ['blank', ''],
    ['two ids', 'r-1\nr-2'],
  ])('F-02: a run id that is %s is an error, and never means "any run"', async (_what, runId) => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const run = await desk.claim('t-1');
    const before = await desk.everything();
    const untyped = { taskId: 't-1', runId: runId as string, fence: run.fence };

    for (const write of [
      () => ledger.runs.complete({ ...untyped, result: 'x' }),
      () => ledger.runs.block({ ...untyped, reason: 'x' }),
      () => ledger.runs.heartbeat(untyped),
    ])
      await expect(write()).rejects.toMatchObject({ name: 'UsageError' });

    expect(await desk.everything()).toBe(before);
  });

  test('F-04: the late writes of a reclaimed run are refused while its task is ready, and after the next claim', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const first = await desk.claim('t-1');
    await ledger.runs.reclaim({ taskId: 't-1', runId: first.run_id });
    const late = () =>
      Promise.all([
        ledger.runs.complete({ ...heldBy(first), result: 'late' }),
        ledger.runs.complete({ taskId: 't-1', runId: first.run_id, result: 'late', replay: true }),
        ledger.runs.finalize({ taskId: 't-1', runId: first.run_id, result: 'late' }),
      ]);
    const whileReady = await desk.everything();
    const answers = [...(await late())];
    expect(await desk.everything()).toBe(whileReady);

    await desk.claim('t-1');
    const whileRunning = await desk.everything();
    answers.push(...(await late()));

    expect(answers.map(({ outcome }) => outcome)).toEqual(Array(6).fill('refused'));
    expect(await desk.everything()).toBe(whileRunning);
  });

  test('F-05: what a sweep saw of a dead run changes nothing of its successor, also if its holder has the same name', async () => {
    const { desk, ledger } = await openDeskWithTask(kind, { maxRetries: 9 });
    desk.processes.start(42);
    const first = await desk.claim('t-1', { ttlMs: 1000, pid: 42 });
    desk.processes.end(42);
    desk.clock.advance(600_000);
    const seen = heldBy(first);
    await createReconciler(ledger).sweep();
    desk.processes.start(42);
    const second = await desk.claim('t-1', { pid: 42 });
    const before = await desk.everything();

    const answers = [
      await ledger.leases.lost(seen),
      await ledger.leases.release(seen),
      await ledger.leases.extend(seen, 'process_alive'),
      await ledger.leases.lost({ ...seen, fence: second.fence }),
      await ledger.leases.requeueOrphan('t-1'),
    ];

    expect(answers.map((answer) => 'reason' in answer && answer.reason)).toEqual([
      ...Array(4).fill('changed_meanwhile'),
      'not_running',
    ]);
    expect(await desk.everything()).toBe(before);
  });

  test('F-06: what a revived worker says on the card of its successor is kept under its own run, as late', async () => {
    const { desk, ledger, exit } = await openDeskWithTask(kind);
    const first = await desk.claim('t-1');
    await exit(first, { kind: 'signal', signal: 'SIGKILL' });
    const second = await desk.claim('t-1');
    const say = (runId: string) =>
      ledger.tasks.comment({ taskId: 't-1', author: 'worker', body: 'nearly there', runId });

    expect(await say(first.run_id)).toMatchObject({ outcome: 'commented', late: true });
    expect(await say(second.run_id)).toMatchObject({ outcome: 'commented', late: false });

    expect(await desk.events('t-1', 'task.commented')).toMatchObject([
      { run_id: first.run_id, late: true },
      { run_id: second.run_id, late: false },
    ]);
    expect(await desk.task('t-1')).toMatchObject({ status: 'running', current_run_id: second.run_id });
  });

  test('F-09: a fresh claim has no sign of life of the run before it: its living worker is left to work', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const first = await desk.claim('t-1', { ttlMs: 60_000 });
    await ledger.runs.heartbeat(heldBy(first));
    desk.clock.advance(7_200_000);
    await ledger.runs.block({ ...heldBy(first), reason: 'no' });
    await ledger.tasks.unblock({ taskId: 't-1' });
    desk.processes.start(42);
    const second = await desk.claim('t-1', { ttlMs: 60_000, pid: 42 });
    expect(await ledger.leases.running()).toMatchObject([
      { lease: { run_id: second.run_id, heartbeat_at_ms: null } },
    ]);
    desk.clock.advance(90_000);

    expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: [], extended: ['t-1'] });

    expect(desk.processes.signals).toEqual([]);
    expect(await desk.task('t-1')).toMatchObject({ current_run_id: second.run_id, consecutive_failures: 0 });
  });

  test('F-10: whoever names the run of another task for this one ends neither', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    for (const taskId of ['t-a', 't-b']) await ledger.tasks.create({ taskId, title: 'work' });
    await desk.claim('t-a', { ttlMs: 1000 });
    const b = await desk.claim('t-b', { ttlMs: 1000 });
    desk.clock.advance(600_000);
    const crossed = { taskId: 't-a', runId: b.run_id, fence: b.fence };
    const before = await desk.everything();

    const answers = [
      await ledger.leases.lost(crossed),
      await ledger.leases.release(crossed),
      await ledger.runs.exited({ ...crossed, exit: { kind: 'unknown' } }),
      await ledger.runs.complete({ ...crossed, result: 'x' }),
      await ledger.runs.finalize({ taskId: 't-a', runId: b.run_id, result: 'x' }),
    ];

    expect(answers).toMatchObject(answers.map(() => ({ outcome: 'refused', reason: 'foreign_run' })));
    expect(await ledger.runs.reclaim({ taskId: 't-a', runId: b.run_id })).toMatchObject({
      outcome: 'refused',
      reason: 'not_current_run',
    });
    expect(await desk.everything()).toBe(before);
  });

  test('F-11: a worker that gave its task back while it still runs can write nothing from then on', async () => {
    const { desk, ledger, exit } = await openDeskWithTask(kind);
    desk.processes.start(42);
    const first = await desk.claim('t-1', { pid: 42 });
    await exit(first, { kind: 'code', code: 75 });
    const second = await desk.claim('t-1');
    const before = await desk.everything();

    expect(await ledger.runs.complete({ ...heldBy(first), result: 'late' })).toMatchObject({
      reason: 'stale_fence',
    });
    expect(
      await ledger.runs.submit({ ...heldBy(first), idempotencyKey: 'step-1', value: 'late' }),
    ).toMatchObject({ reason: 'stale_fence' });

    expect(await desk.everything()).toBe(before);
    expect(await ledger.runs.complete({ ...heldBy(second), result: 'done' })).toMatchObject({
      outcome: 'completed',
    });
    // Who it was is told for ever by its start.
    const [started] = await desk.events('t-1', 'run.started');
    expect(started).toMatchObject({ run_id: first.run_id, claim: { process: { pid: 42 } } });
  });
});

test('F-02: the command refuses a run that is none, and the task runs on', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'task-1', '--title', 'Write it');
  const run = await done(bench, 'run claim', '--holder', 'alice');
  const before = (await bench.run(['event', 'export'])).stdout;
  const fence = ['--fence', String(run.fence), '--result', 'x'];

  const codes = [];
  for (const named of [[], ['--run', '']])
    codes.push((await bench.run(['run', 'complete', '--task', 'task-1', ...named, ...fence])).code);
  const unknown = await refused(bench, 'run', 'complete', '--task', 'task-1', '--run', 'abc', ...fence);

  expect(codes).toEqual([2, 2]);
  expect(unknown).toMatchObject({ reason: 'no_such_run', current_run_id: run.run_id });
  expect((await bench.run(['event', 'export'])).stdout).toBe(before);
});

test('F-03: the API reclaims exactly the run that it was asked to: 409 for one that was replaced, and its successor works on', async () => {
  const { ledger, url } = await openApi();
  await ledger.tasks.create({ taskId: 't-1', title: 'work' });
  const claim = async () => {
    const run = await ledger.runs.claim({ taskId: 't-1', holder: 'worker', pid: process.pid });
    if (run.outcome !== 'claimed') throw new Error(run.reason);
    return run;
  };
  const first = await claim();
  await ledger.runs.block({ ...heldBy(first), reason: 'no' });
  await ledger.tasks.unblock({ taskId: 't-1' });
  const second = await claim();
  const head = await ledger.head();

  const answer = await callApi(url, {
    route: 'POST /runs/{run_id}/reclaim',
    params: { run_id: first.run_id },
    body: { task_id: 't-1', reason: 'stuck' },
  });

  // The worker is this very process: a signal would end the test.
  expect(answer.status).toBe(409);
  expect(JSON.parse(answer.text)).toMatchObject({
    reason: 'not_current_run',
    current_run_id: second.run_id,
  });
  expect(await ledger.head()).toEqual(head);
});

test('F-07: a child that has everything of its parent’s surroundings has no authority over the task', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'task-1', '--title', 'Write it');
  const run = await done(bench, 'run claim', '--holder', 'alice', '--task', 'task-1');
  const env = {
    CUSTODY_TASK: 'task-1',
    CUSTODY_RUN: run.run_id,
    CUSTODY_HOLDER: 'alice',
    CUSTODY_FENCE: String(run.fence),
  };

  const bare = await bench.run(['run', 'complete', '--result', 'by a child'], { env });
  const named = await bench.run(
    ['run', 'complete', '--task', 'task-1', '--run', run.run_id, '--result', 'x'],
    {
      env,
    },
  );
  const guessed = await refused(
    bench,
    ...['run', 'complete', ...held({ ...run, fence: run.fence + 1 }), '--result', 'x'],
  );

  expect([bare.code, named.code]).toEqual([2, 2]);
  expect(guessed).toMatchObject({ reason: 'stale_fence', offered: run.fence + 1 });
  expect((await bench.json(['task', 'get', 'task-1'])).value).toMatchObject({ status: 'running' });
});

test('F-08: a heartbeat that was refused is no success: exit 1, and who has the task now', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'task-1', '--title', 'Write it');
  const first = await done(bench, 'run claim', '--holder', 'alice', '--task', 'task-1');
  await done(bench, 'run reclaim', '--task', 'task-1', '--run', first.run_id, '--reason', 'stuck');
  const second = await done(bench, 'run claim', '--holder', 'bob', '--task', 'task-1');

  const beat = await bench.run(['run', 'heartbeat', ...underFence(first)]);

  expect(beat.code).toBe(1);
  expect(beat.stdout).toBe('');
  expect(beat.stderr.match(/stale_fence/g)).toHaveLength(1);
  expect(beat.stderr).toContain(`current_run_id: ${second.run_id}`);
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJournals } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import { heldBy, MANAGING_STORES, openDesk, openDeskWithTask } from '../support/managed.ts';

describe.each(MANAGING_STORES)('results that were lost or came late elsewhere, on $name', (kind) => {
  test('F-32: of three completions each task keeps its own summary and metadata, and an archive leaves no run open', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    for (const taskId of ['t-1', 't-2', 't-3', 't-4']) await ledger.tasks.create({ taskId, title: 'work' });
    const open = await desk.claim('t-4');

    const ends = ['t-1', 't-2', 't-3'].map((taskId) =>
      ledger.tasks.complete({
        taskId,
        operator: 'ann',
        summary: `of ${taskId}`,
        metadata: { pages: taskId.length, of: taskId },
      }),
    );
    expect((await Promise.all(ends)).map(({ outcome }) => outcome)).toEqual(Array(3).fill('completed'));
    await ledger.tasks.archive({ taskId: 't-4' });

    for (const taskId of ['t-1', 't-2', 't-3']) {
      const [run, ...others] = await ledger.runs.list(taskId);
      expect(others).toEqual([]);
      expect(run).toMatchObject({
        synthesized: true,
        summary: `of ${taskId}`,
        metadata: { pages: 3, of: taskId },
      });
      const [completed] = await desk.events(taskId, 'task.completed');
      expect(completed).toMatchObject({ run_id: run?.run_id, summary: `of ${taskId}` });
    }
    expect(await ledger.runs.list('t-4')).toMatchObject([{ run_id: open.run_id, outcome: 'reclaimed' }]);
    expect(await ledger.leases.running()).toEqual([]);
  });

  test('F-34: a run that blocked its task stays blocked, with its reason, whoever unblocks and sweeps afterwards', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const run = await desk.claim('t-1', { ttlMs: 1000 });
    await ledger.runs.block({ ...heldBy(run), reason: 'which database?', kind: 'needs_input' });
    desk.clock.advance(600_000);

    await createReconciler(ledger).sweep();
    await ledger.tasks.unblock({ taskId: 't-1' });
    await createReconciler(ledger).sweep();

    const [blocked] = await ledger.runs.list('t-1');
    expect(blocked).toMatchObject({ run_id: run.run_id, outcome: 'blocked', summary: 'which database?' });
    expect(await desk.task('t-1')).toMatchObject({ status: 'ready', current_run_id: null });
  });

  test.each([
    ['a clean exit without a word', { kind: 'code', code: 0 }],
    ['a crash', { kind: 'signal', signal: 'SIGSEGV' }],
    ['a process that nobody saw end', { kind: 'unknown' }],
  ] as const)('F-36: a completed task stays completed after %s of the same worker', async (_what, exit) => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const run = await desk.claim('t-1');
    await ledger.runs.complete({ ...heldBy(run), result: 'done' });
    const before = await desk.everything();

    expect(await ledger.runs.exited({ ...heldBy(run), exit })).toMatchObject({ outcome: 'refused' });
    expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: [] });

    expect(await desk.everything()).toBe(before);
    expect(await desk.task('t-1')).toMatchObject({ status: 'completed', consecutive_failures: 0 });
  });

  test('F-39: an exit that only a lost parent knew is one crash of one run, and the second one stops the task', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const reconciler = createReconciler(ledger);
    let claims = 0;
    for (let tick = 0; tick < 16; tick += 1) {
      desk.processes.start(42);
      const answer = await ledger.runs.claim({ taskId: 't-1', holder: 'worker', pid: 42 });
      if (answer.outcome === 'claimed') claims += 1;
      desk.processes.end(42);
      desk.clock.advance(300_000);
      await reconciler.sweep();
      await reconciler.sweep();
    }

    expect(claims).toBe(2);
    expect(await desk.task('t-1')).toMatchObject({ status: 'blocked', consecutive_failures: 2 });
    expect((await ledger.runs.list('t-1')).map(({ outcome }) => outcome)).toEqual(['crashed', 'crashed']);
  });

  test('F-41: who ran an attempt and with what is told for ever, whatever becomes of the task', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const first = await desk.claim('t-1', { holder: 'w-a' });
    await ledger.append([
      { type: 'run.started', run_id: 'session-1', task_id: 't-1', model: 'm-old', route: 'r-old' },
    ]);
    await ledger.runs.block({ ...heldBy(first), reason: 'no' });
    const [before] = await ledger.runs.list('t-1');

    await ledger.tasks.assign({ taskId: 't-1', assignee: 'w-b' });
    await ledger.tasks.unblock({ taskId: 't-1' });
    const second = await desk.claim('t-1', { holder: 'w-b' });
    await ledger.append([
      { type: 'run.started', run_id: 'session-2', task_id: 't-1', model: 'm-new' },
      { type: 'run.started', run_id: 'session-3', task_id: 't-1' },
    ]);
    await ledger.runs.complete({ ...heldBy(second), result: 'done' });

    const runs = await ledger.runs.list('t-1');
    expect(runs[0]).toEqual(before);
    expect(runs.filter(({ role }) => role === 'attempt').map(({ holder }) => holder)).toEqual(['w-a', 'w-b']);
    const models = await Promise.all(
      ['session-1', 'session-2', 'session-3'].map(
        async (id) => (await ledger.custody.run(id))?.facts['model'],
      ),
    );
    // What a start did not say is not filled in from its neighbours.
    expect(models).toEqual(['m-old', 'm-new', '']);
  });

  test('F-42: the time of a second attempt begins with its own start', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await desk.claimAndBlock('t-1');
    desk.clock.advance(3_600_000);
    await ledger.tasks.unblock({ taskId: 't-1' });
    const second = await desk.claim('t-1', { ttlMs: 600_000 });
    desk.clock.advance(590_000);

    expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: [] });

    expect(await ledger.leases.running()).toMatchObject([
      { lease: { run_id: second.run_id, started_at_ms: desk.clock.now() - 590_000 } },
    ]);
    expect(await desk.task('t-1')).toMatchObject({ status: 'running', consecutive_failures: 0 });
  });

  test('F-43: a task that waits for a person is not completed over his head, and its children stay where they are', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await ledger.tasks.create({ taskId: 't-2', title: 'after it', parents: ['t-1'] });
    await ledger.tasks.block({ taskId: 't-1', reason: 'which?', kind: 'needs_input' });
    const before = await desk.everything();

    expect(await ledger.tasks.complete({ taskId: 't-1', operator: 'bot', result: 'x' })).toMatchObject({
      outcome: 'refused',
      reason: 'needs_force',
    });

    expect(await desk.everything()).toBe(before);
    expect((await desk.task('t-2')).status).toBe('todo');
    expect(await ledger.runs.claim({ holder: 'worker' })).toMatchObject({ outcome: 'none' });
  });

  test('F-46: a task that went to triage with its work done is completed by the run that did it', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const [, last] = await desk.toTriage('t-1');

    expect(
      await ledger.runs.complete({ taskId: 't-1', runId: last.run_id, replay: true, result: 'there' }),
    ).toMatchObject({ outcome: 'completed', run_id: last.run_id });
    expect(await desk.task('t-1')).toMatchObject({ status: 'completed', block_kind: null });
  });

  test('F-68: a result whose journal can not be written is told to its worker, and the ledger is as it was', async () => {
    const { desk } = await openDeskWithTask(kind);
    const run = await desk.claim('t-1');
    const directory = mkdtempSync(join(tmpdir(), 'custody-case-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    writeFileSync(join(directory, 'journals'), 'a file where the folder should be');
    const before = await desk.everything();

    await expect(
      openJournals(join(directory, 'journals')).write({ taskId: 't-1', runId: run.run_id, result: 'done' }),
    ).rejects.toMatchObject({ code: 'ENOTDIR', path: expect.stringContaining(directory) });

    expect(await desk.everything()).toBe(before);
    expect(await desk.task('t-1')).toMatchObject({ status: 'running', current_run_id: run.run_id });
  });
});

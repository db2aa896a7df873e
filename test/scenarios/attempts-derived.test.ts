import { describe, expect, test } from 'vitest';
import { COMMANDED_STORES, openDesk } from '../support/managed.ts';

const bytes = { result: 'result bytes', summary: 'result bytes' };

describe.each(COMMANDED_STORES)('replays and late writers on $name', (kind) => {
  async function deskWithTask() {
    const desk = await openDesk(kind);
    await desk.ledger.tasks.create({ taskId: 't-1', title: 'work', assignee: 'worker' });
    return { desk, ledger: desk.ledger };
  }

  test('D-01 a second replay of the same run is refused and writes nothing', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1', 'capability');
    await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, ...bytes });
    const before = await desk.everything();

    const again = await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, ...bytes });

    expect(again).toMatchObject({
      outcome: 'refused',
      reason: 'already_completed',
      completed_run_id: r1.run_id,
    });
    expect(await desk.everything()).toBe(before);
  });

  test('D-06 a task that was unblocked keeps its ended run stale', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1');
    await ledger.tasks.unblock({ taskId: 't-1' });

    const answer = await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, ...bytes });

    // The status is asked before the change; either alone refuses.
    expect(answer).toMatchObject({ outcome: 'refused', reason: 'status_not_replayable', status: 'ready' });
  });

  test('D-06 a task that was unblocked and blocked again by an operator keeps its ended run stale', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1', 'capability');
    await ledger.tasks.unblock({ taskId: 't-1' });
    // Without a reason no run is made up, so r1 is still the latest one.
    await ledger.tasks.block({ taskId: 't-1', kind: 'transient' });

    const answer = await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, ...bytes });

    expect(answer).toMatchObject({ outcome: 'refused', reason: 'changed_since_run', status: 'blocked' });
  });

  test('D-07 a comment is no change', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1');
    const remark = await ledger.tasks.comment({ taskId: 't-1', author: 'ann', body: 'hm', runId: r1.run_id });
    expect(remark).toMatchObject({ outcome: 'commented', late: true, status: 'blocked' });

    expect(
      await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, ...bytes }),
    ).toMatchObject({ outcome: 'completed' });
  });

  test('D-08 another assignee is a change', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1');
    expect(await ledger.tasks.assign({ taskId: 't-1', assignee: 'other' })).toMatchObject({
      outcome: 'assigned',
    });

    expect(
      await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, ...bytes }),
    ).toMatchObject({
      outcome: 'refused',
      reason: 'changed_since_run',
    });
  });

  test('D-11 a run of another task is foreign, and its own task is not touched', async () => {
    const { desk, ledger } = await deskWithTask();
    await ledger.tasks.create({ taskId: 't-2', title: 'other work' });
    await desk.claimAndBlock('t-1');
    const other = await desk.claimAndBlock('t-2');
    const before = await desk.everything();

    const answer = await ledger.runs.complete({ taskId: 't-1', runId: other.run_id, replay: true, ...bytes });

    expect(answer).toMatchObject({ outcome: 'refused', reason: 'foreign_run', owner: 't-2' });
    expect(await desk.everything()).toBe(before);
  });

  test.each(['before', 'after'])(
    'D-12 a parent that is open, linked %s the block, refuses the replay',
    async (when) => {
      const { desk, ledger } = await deskWithTask();
      await ledger.tasks.create({ taskId: 'parent', title: 'first' });
      const r1 = await desk.claim('t-1');
      if (when === 'before') await ledger.tasks.link({ taskId: 't-1', parentId: 'parent' });
      await ledger.runs.block({ taskId: 't-1', runId: r1.run_id, fence: r1.fence, reason: 'stuck' });
      if (when === 'after') await ledger.tasks.link({ taskId: 't-1', parentId: 'parent' });

      const answer = await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, ...bytes });

      expect(answer).toMatchObject({ outcome: 'refused', reason: 'parents_open', parents: ['parent'] });
    },
  );

  test('D-12 a new parent is a change also when it is done', async () => {
    const { desk, ledger } = await deskWithTask();
    await ledger.tasks.create({ taskId: 'parent', title: 'first' });
    await ledger.tasks.complete({ taskId: 'parent', operator: 'ann' });
    const r1 = await desk.claimAndBlock('t-1');
    await ledger.tasks.link({ taskId: 't-1', parentId: 'parent' });

    expect(
      await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, ...bytes }),
    ).toMatchObject({
      outcome: 'refused',
      reason: 'changed_since_run',
    });
  });

  test('D-15 a fence and a replay together are an error, and nothing is written', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1');
    const before = await desk.everything();

    const call = ledger.runs.complete({
      taskId: 't-1',
      runId: r1.run_id,
      fence: r1.fence,
      replay: true,
      ...bytes,
    });

    await expect(call).rejects.toMatchObject({ code: 'invalid_option', facts: { field: 'fence' } });
    expect(await desk.everything()).toBe(before);
  });

  test('D-17 a worker that survives keeps its task for two minutes', async () => {
    const { desk, ledger } = await deskWithTask();
    desk.processes.start(42);
    desk.processes.onSignal = () => true;
    const r1 = await desk.claim('t-1', { pid: 42 });

    const answer = await ledger.runs.reclaim({ taskId: 't-1', runId: r1.run_id, reason: 'stuck' });

    const expires = new Date(desk.clock.now() + 120_000).toISOString();
    expect(answer).toMatchObject({
      outcome: 'refused',
      reason: 'worker_survived',
      expires_at: expires,
      terminated: false,
      sigkill: true,
    });
    expect(desk.processes.signals).toEqual(['SIGTERM 42', 'SIGKILL 42']);
    expect(await desk.task('t-1')).toMatchObject({ status: 'running', current_run_id: r1.run_id });
    const [deferred] = await desk.events('t-1', 'claim.deferred');
    expect(deferred).toMatchObject({
      run_id: r1.run_id,
      reason: 'manual_reclaim_worker_alive',
      expires_at: expires,
    });
    expect((await ledger.leases.running())[0]?.lease?.expires_at_ms).toBe(desk.clock.now() + 120_000);
  });

  test('D-22 a completion that no event can hold is rolled back as a whole', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1');
    const before = await desk.everything();

    const call = ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, result: 'x\u0000y' });

    await expect(call).rejects.toMatchObject({ code: 'invalid_event', field: 'result' });
    expect(await desk.everything()).toBe(before);
    expect(await desk.task('t-1')).toMatchObject({ status: 'blocked', completed_run_id: null });
  });

  test('D-24 a reclaimed run can not complete the task although it is ready', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claim('t-1');
    await ledger.runs.reclaim({ taskId: 't-1', runId: r1.run_id });
    const before = await desk.everything();

    const answer = await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, fence: r1.fence, ...bytes });

    expect(answer).toMatchObject({
      outcome: 'refused',
      reason: 'stale_fence',
      offered: r1.fence,
      current: null,
      run_outcome: 'reclaimed',
    });
    expect(await desk.everything()).toBe(before);
  });

  test('D-25 an operator completes a ready task; a run is made up for what he hands over', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claim('t-1');
    await ledger.runs.reclaim({ taskId: 't-1', runId: r1.run_id });

    const answer = await ledger.tasks.complete({ taskId: 't-1', operator: 'ann', result: 'by hand' });

    const runs = await ledger.runs.list('t-1');
    expect(answer).toMatchObject({ outcome: 'completed', status: 'completed', run_id: runs[1]?.run_id });
    expect(runs.map((run) => [run.outcome, run.synthesized])).toEqual([
      ['reclaimed', false],
      ['completed', true],
    ]);
    expect((await desk.task('t-1')).completed_run_id).toBe(runs[1]?.run_id);
    expect(runs[1]?.started_at).toBe(runs[1]?.ended_at);
  });

  test('a run that was taken back by an operator may not be replayed', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claim('t-1');
    await ledger.runs.reclaim({ taskId: 't-1', runId: r1.run_id });
    await ledger.tasks.block({ taskId: 't-1', kind: 'capability' });

    // The block is a change as well; each of the two refuses.
    expect(
      await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, ...bytes }),
    ).toMatchObject({
      outcome: 'refused',
      reason: 'changed_since_run',
    });
  });

  test('a run of an open attempt is not replayed', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claim('t-1');

    expect(
      await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, ...bytes }),
    ).toMatchObject({
      outcome: 'refused',
      reason: 'run_not_ended',
    });
  });

  test.each([
    ['no_such_task', { taskId: 't-none', runId: 'run-1' }],
    ['no_such_run', { taskId: 't-1', runId: 'run-none' }],
  ])('a replay of what nobody knows is refused as %s', async (reason, ids) => {
    const { ledger } = await deskWithTask();

    expect(await ledger.runs.complete({ ...ids, replay: true, ...bytes })).toMatchObject({
      outcome: 'refused',
      reason,
    });
  });

  test.each(['', ' ', 'a b', undefined, null, 7])(
    'a run id %j is an error, never "any run"',
    async (runId) => {
      const { desk, ledger } = await deskWithTask();
      const r1 = await desk.claim('t-1');
      const before = await desk.everything();
      const bad = runId as string;

      for (const call of [
        () => ledger.runs.complete({ taskId: 't-1', runId: bad, fence: r1.fence, ...bytes }),
        () => ledger.runs.complete({ taskId: 't-1', runId: bad, replay: true, ...bytes }),
        () => ledger.runs.block({ taskId: 't-1', runId: bad, fence: r1.fence, reason: 'stuck' }),
        () => ledger.runs.fail({ taskId: 't-1', runId: bad, fence: r1.fence, reason: 'stuck' }),
        () => ledger.runs.heartbeat({ runId: bad, fence: r1.fence }),
        () => ledger.runs.push({ runId: bad, fence: r1.fence, state: 'working' }),
        () =>
          ledger.runs.submit({ taskId: 't-1', runId: bad, fence: r1.fence, idempotencyKey: 'k', value: 1 }),
        () => ledger.runs.reclaim({ taskId: 't-1', runId: bad }),
        () => ledger.runs.refresh({ runId: bad, holder: 'worker' }),
      ]) {
        await expect(call()).rejects.toMatchObject({ code: 'invalid_option', facts: { field: 'run_id' } });
      }
      expect(await desk.everything()).toBe(before);
    },
  );

  test.each([0, -1, 1.5, Number.NaN, undefined, '7'])('a fence %j is an error', async (fence) => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claim('t-1');

    const call = ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, fence: fence as number, ...bytes });

    await expect(call).rejects.toMatchObject({ code: 'invalid_option', facts: { field: 'fence' } });
  });

  test('every write of a holder is refused under another fence, older or newer, and writes nothing', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claim('t-1');
    const before = await desk.everything();

    for (const fence of [r1.fence - 1, r1.fence + 1, 1_000_000]) {
      const held = { taskId: 't-1', runId: r1.run_id, fence };
      for (const answer of [
        await ledger.runs.complete({ ...held, ...bytes }),
        await ledger.runs.block({ ...held, reason: 'stuck' }),
        await ledger.runs.fail({ ...held, reason: 'stuck' }),
        await ledger.runs.heartbeat(held),
        await ledger.runs.push({ ...held, state: 'working' }),
        await ledger.runs.submit({ ...held, idempotencyKey: 'k', value: 1 }),
        await ledger.runs.exited({ ...held, exit: { kind: 'unknown' } }),
      ]) {
        expect(answer).toMatchObject({
          outcome: 'refused',
          reason: 'stale_fence',
          offered: fence,
          current: r1.fence,
        });
      }
    }
    expect(await desk.everything()).toBe(before);
  });
});

import { describe, expect, test } from 'vitest';
import { COMMANDED_STORES, heldBy, openDeskWithTask } from '../support/managed.ts';

describe.each(COMMANDED_STORES)('runs of managed tasks on $name', (kind) => {
  test('U-02 U-03 a crashed run can neither complete nor block nor extend its successor', async () => {
    const { desk, ledger, exit } = await openDeskWithTask(kind);
    const r1 = await desk.claim('t-1');
    await exit(r1, { kind: 'code', code: 1 });
    const r2 = await desk.claim('t-1');
    const before = await desk.everything();

    for (const answer of [
      await ledger.runs.complete({ ...heldBy(r1), result: 'late' }),
      await ledger.runs.heartbeat(heldBy(r1)),
      await ledger.runs.block({ ...heldBy(r1), reason: 'late' }),
      await ledger.runs.complete({ ...heldBy(r1), fence: r2.fence, result: 'late' }),
    ]) {
      expect(answer).toMatchObject({ outcome: 'refused', current_run_id: r2.run_id });
    }
    expect(await desk.everything()).toBe(before);

    desk.clock.advance(1000);
    expect(await ledger.runs.heartbeat(heldBy(r2))).toEqual({
      outcome: 'extended',
      expires_at: new Date(desk.clock.now() + 900_000).toISOString(),
    });
    expect(await ledger.runs.complete({ ...heldBy(r2), result: 'done' })).toMatchObject({
      outcome: 'completed',
    });
    expect((await ledger.runs.list('t-1')).map((run) => run.outcome)).toEqual(['crashed', 'completed']);
  });

  test('U-04 a claim opens one run under a lease', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);

    const claim = await desk.claim('t-1');

    const [started] = await desk.events('t-1', 'run.started');
    expect(claim).toEqual({
      outcome: 'claimed',
      task_id: 't-1',
      run_id: started?.['run_id'],
      fence: started?.seq,
      expires_at: new Date(desk.clock.now() + 900_000).toISOString(),
      pending_question: false,
      question: null,
      resume_notice: null,
    });
    expect(await ledger.runs.list('t-1')).toMatchObject([
      {
        run_id: claim.run_id,
        role: 'attempt',
        outcome: null,
        state: 'running',
        ended_at: null,
        holder: 'worker',
      },
    ]);
    expect(await desk.task('t-1')).toMatchObject({
      status: 'running',
      current_run_id: claim.run_id,
      runs: [{ assignee: 'worker' }],
    });
  });

  test('U-05 U-06 the summary is the result, and start and completion name one run', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const r1 = await desk.claim('t-1');
    await ledger.runs.complete({ ...heldBy(r1), result: 'all done' });

    expect((await ledger.runs.list('t-1'))[0]?.summary).toBe('all done');
    expect((await desk.events('t-1')).map((event) => [event.type, event['run_id']])).toEqual([
      ['task.created', undefined],
      ['run.started', r1.run_id],
      ['task.completed', r1.run_id],
    ]);
  });

  test('U-07 U-08 a completion of a task that nobody claimed makes up a run only for what it hands over', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await ledger.tasks.create({ taskId: 't-2', title: 'bare' });

    await ledger.tasks.complete({
      taskId: 't-1',
      operator: 'ann',
      summary: 'by hand',
      metadata: { tool: 'hand' },
    });
    await ledger.tasks.complete({ taskId: 't-2', operator: 'ann' });

    const [run] = await ledger.runs.list('t-1');
    expect(run).toMatchObject({
      outcome: 'completed',
      synthesized: true,
      summary: 'by hand',
      metadata: { tool: 'hand' },
    });
    expect(run?.started_at).toBe(run?.ended_at);
    expect((await desk.events('t-1', 'task.completed'))[0]).toMatchObject({
      run_id: run?.run_id,
      operator: 'ann',
    });
    expect(await desk.task('t-1')).toMatchObject({
      status: 'completed',
      current_run_id: null,
      started_at: null,
    });
    expect(await ledger.runs.list('t-2')).toEqual([]);
    expect(await desk.task('t-2')).toMatchObject({ status: 'completed', completed_run_id: null });
    expect(await ledger.tasks.complete({ taskId: 't-2', operator: 'ann' })).toMatchObject({
      outcome: 'refused',
      reason: 'already_completed',
    });
  });

  test('U-09 a block of a task that nobody claimed makes up a run for its reason', async () => {
    const { ledger, desk } = await openDeskWithTask(kind);

    await ledger.tasks.block({ taskId: 't-1', reason: 'needs a key', kind: 'needs_input' });

    const [run] = await ledger.runs.list('t-1');
    expect(run).toMatchObject({ outcome: 'blocked', synthesized: true, summary: 'needs a key' });
    expect((await desk.events('t-1', 'task.blocked'))[0]).toMatchObject({
      run_id: run?.run_id,
      kind: 'needs_input',
      recurrences: 1,
    });
  });

  test('W4 an operator completes a task that waits for a person only by force', async () => {
    const { ledger } = await openDeskWithTask(kind);
    await ledger.tasks.block({ taskId: 't-1', reason: 'which?', kind: 'needs_input' });

    expect(await ledger.tasks.complete({ taskId: 't-1', operator: 'ann' })).toMatchObject({
      outcome: 'refused',
      reason: 'needs_force',
    });
    expect(await ledger.tasks.complete({ taskId: 't-1', operator: 'ann', force: true })).toMatchObject({
      outcome: 'completed',
    });
  });

  test('U-10 U-11 an archive ends what runs, makes up nothing, and stays a flag', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await ledger.tasks.create({ taskId: 't-2', title: 'never begun' });
    const r1 = await desk.claim('t-1');

    expect(await ledger.tasks.archive({ taskId: 't-1' })).toEqual({
      outcome: 'archived',
      task_id: 't-1',
      status: 'cancelled',
    });
    await ledger.tasks.archive({ taskId: 't-2' });

    expect(await ledger.runs.list('t-1')).toMatchObject([{ run_id: r1.run_id, outcome: 'reclaimed' }]);
    expect(await ledger.runs.list('t-2')).toEqual([]);
    expect(await ledger.runs.complete({ ...heldBy(r1), result: 'late' })).toMatchObject({
      outcome: 'refused',
      reason: 'stale_fence',
    });
    expect(await ledger.tasks.archive({ taskId: 't-1' })).toMatchObject({
      outcome: 'refused',
      reason: 'already_archived',
    });
  });

  test('W6 a completed task can still be archived, and nothing else of its row changes', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await ledger.tasks.complete({ taskId: 't-1', operator: 'ann', result: 'done' });
    const before = await desk.row('t-1');
    desk.clock.advance(60_000);

    await ledger.tasks.archive({ taskId: 't-1' });

    expect(await desk.row('t-1')).toEqual({ ...before, archived: true });
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  });

  test('U-15 U-32 two blocks of one kind in a row need a person', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await desk.claimAndBlock('t-1', 'capability');
    await ledger.tasks.unblock({ taskId: 't-1' });
    expect(await ledger.runs.list('t-1')).toHaveLength(1);
    await desk.claimAndBlock('t-1', 'capability');

    expect((await desk.events('t-1', 'task.block_loop_detected'))[0]).toMatchObject({
      recurrences: 2,
      kind: 'capability',
      limit: 2,
    });
    expect(await desk.row('t-1')).toMatchObject({
      status: 'triage',
      block_kind: 'capability',
      block_recurrences: 2,
    });
    expect(await ledger.tasks.unblock({ taskId: 't-1' })).toMatchObject({
      outcome: 'refused',
      reason: 'not_blocked',
    });
    expect(await ledger.runs.claim({ taskId: 't-1', holder: 'h' })).toMatchObject({
      outcome: 'none',
      reason: 'not_ready',
      status: 'triage',
    });
  });

  test('blocks of different kinds are no loop', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await desk.claimAndBlock('t-1', 'capability');
    await ledger.tasks.unblock({ taskId: 't-1' });
    await desk.claimAndBlock('t-1', 'transient');

    expect(await desk.task('t-1')).toMatchObject({
      status: 'blocked',
      block_kind: 'transient',
      block_recurrences: 1,
    });
  });

  test('U-17 a reclaim stops a living worker first', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    desk.processes.start(42);
    const r1 = await desk.claim('t-1', { pid: 42 });

    expect(
      await ledger.runs.reclaim({ taskId: 't-1', runId: r1.run_id, reason: 'test reason' }),
    ).toMatchObject({ outcome: 'reclaimed' });

    expect(desk.processes.signals).toEqual(['SIGTERM 42']);
    expect((await desk.events('t-1', 'claim.reclaimed'))[0]).toMatchObject({
      manual: true,
      reason: 'test reason',
      termination: { termination_attempted: true, terminated: true, sigkill: false, prev_pid: 42 },
    });
  });
});

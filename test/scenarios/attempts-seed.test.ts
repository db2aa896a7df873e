import { describe, expect, test } from 'vitest';
import { COMMANDED_STORES, openDesk } from '../support/managed.ts';

describe.each(COMMANDED_STORES)('attempts of a managed task on $name', (kind) => {
  async function deskWithTask() {
    const desk = await openDesk(kind);
    await desk.ledger.tasks.create({ taskId: 't-1', title: 'work', assignee: 'worker' });
    return { desk, ledger: desk.ledger };
  }

  const durable = { result: 'durable terminal result', summary: 'durable terminal result' };

  test('S-04 a blocked run that is replayed completes its task, once', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1', 'capability');

    const answer = await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, ...durable });

    const completed = await desk.events('t-1', 'task.completed');
    expect(answer).toEqual({
      outcome: 'completed',
      task_id: 't-1',
      run_id: r1.run_id,
      replayed: true,
      seq: completed[0]?.seq,
    });
    expect(completed.map((event) => event['run_id'])).toEqual([r1.run_id]);
    expect(completed[0]).toMatchObject({ replayed: true, prior_outcome: 'blocked' });
    expect(await desk.row('t-1')).toMatchObject({
      status: 'completed',
      completed_run_id: r1.run_id,
      current_run_id: null,
      result: 'durable terminal result',
      block_kind: null,
      block_recurrences: 0,
    });
    const runs = await ledger.runs.list('t-1');
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({
      outcome: 'completed',
      summary: 'durable terminal result',
      state: 'ended',
    });
    expect(runs[0]?.ended_at).not.toBeNull();
  });

  test('S-05 the latest run of a task in triage may be replayed', async () => {
    const { desk, ledger } = await deskWithTask();
    const [r1, r2] = await desk.toTriage('t-1');
    expect((await desk.task('t-1')).status).toBe('triage');

    const answer = await ledger.runs.complete({ taskId: 't-1', runId: r2.run_id, replay: true, ...durable });

    expect(answer).toMatchObject({ outcome: 'completed', run_id: r2.run_id });
    expect(await desk.task('t-1')).toMatchObject({ status: 'completed', completed_run_id: r2.run_id });
    expect((await ledger.runs.list('t-1')).map((run) => [run.run_id, run.outcome])).toEqual([
      [r1.run_id, 'blocked'],
      [r2.run_id, 'completed'],
    ]);
  });

  test('S-06 a task that was specified since keeps its ended run stale', async () => {
    const { desk, ledger } = await deskWithTask();
    const [, r2] = await desk.toTriage('t-1');
    const specified = await ledger.tasks.specify({ taskId: 't-1', title: 'better work', author: 'operator' });
    expect(specified).toEqual({ outcome: 'specified', task_id: 't-1', status: 'ready' });

    const answer = await ledger.runs.complete({ taskId: 't-1', runId: r2.run_id, replay: true, ...durable });

    expect(answer).toMatchObject({ outcome: 'refused', reason: 'status_not_replayable', status: 'ready' });
    expect(await desk.task('t-1')).toMatchObject({
      status: 'ready',
      title: 'better work',
      completed_run_id: null,
    });
  });

  test('S-07 a decomposed task is not completed by its old run', async () => {
    const { desk, ledger } = await deskWithTask();
    const [, r2] = await desk.toTriage('t-1');
    const split = await ledger.tasks.decompose({
      taskId: 't-1',
      children: [{ title: 'part' }],
      rootAssignee: 'default',
      autoPromote: false,
    });
    expect(split).toMatchObject({ outcome: 'decomposed', status: 'todo' });

    const answer = await ledger.runs.complete({ taskId: 't-1', runId: r2.run_id, replay: true, ...durable });

    expect(answer).toMatchObject({ outcome: 'refused', reason: 'status_not_replayable' });
    expect((await desk.task('t-1')).status).toBe('todo');
  });

  test('D-09 lineage alone refuses a replay, also when the children are done and the root is blocked again', async () => {
    const { desk, ledger } = await deskWithTask();
    const [, r2] = await desk.toTriage('t-1');
    await ledger.tasks.decompose({ taskId: 't-1', children: [{ taskId: 'part', title: 'part' }] });
    await ledger.tasks.complete({ taskId: 'part', operator: 'ann' });
    await ledger.tasks.block({ taskId: 't-1' });
    expect(await desk.task('t-1')).toMatchObject({ status: 'triage', current_run_id: null });

    const answer = await ledger.runs.complete({ taskId: 't-1', runId: r2.run_id, replay: true, ...durable });

    expect(answer).toMatchObject({ outcome: 'refused', reason: 'decomposed' });
  });

  test('S-08 an older run stays stale although it is blocked the same way', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1', 'capability');
    await ledger.tasks.unblock({ taskId: 't-1' });
    const r2 = await desk.claimAndBlock('t-1', 'capability');

    const answer = await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, ...durable });

    expect(r1.run_id).not.toBe(r2.run_id);
    expect(answer).toMatchObject({ outcome: 'refused', reason: 'not_latest_run', latest_run_id: r2.run_id });
    expect((await desk.task('t-1')).status).toBe('triage');
  });

  test('S-09 the completion names the run that won, not the bytes that it brought', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1');
    await ledger.tasks.unblock({ taskId: 't-1' });
    const r2 = await desk.claim('t-1');
    await ledger.runs.complete({
      taskId: 't-1',
      runId: r2.run_id,
      fence: r2.fence,
      result: 'identical result bytes',
    });

    expect(await desk.task('t-1')).toMatchObject({ status: 'completed', completed_run_id: r2.run_id });
    expect((await ledger.runs.list('t-1')).map((run) => run.outcome)).toEqual(['blocked', 'completed']);
    expect(
      await ledger.runs.complete({
        taskId: 't-1',
        runId: r1.run_id,
        replay: true,
        result: 'identical result bytes',
      }),
    ).toMatchObject({
      outcome: 'refused',
      reason: 'not_latest_run',
    });
  });

  test('S-10 a reclaimed task is ready, its run is closed, and a claim opens a new one', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claim('t-1');

    const answer = await ledger.runs.reclaim({
      taskId: 't-1',
      runId: r1.run_id,
      reason: 'invalid exact journal',
    });

    expect(answer).toMatchObject({ outcome: 'reclaimed', task_id: 't-1', status: 'ready' });
    expect(await desk.task('t-1')).toMatchObject({ status: 'ready', current_run_id: null });
    const [run] = await ledger.runs.list('t-1');
    expect(run).toMatchObject({
      outcome: 'reclaimed',
      error: 'manual_reclaim: invalid exact journal',
      metadata: null,
    });
    expect((await desk.claim('t-1')).run_id).not.toBe(r1.run_id);
  });

  test('S-11 a reclaim of an older run signals nobody and leaves its replacement alone', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1');
    await ledger.tasks.unblock({ taskId: 't-1' });
    desk.processes.start(42);
    const r2 = await desk.claim('t-1', { pid: 42 });
    const before = await desk.everything();

    const answer = await ledger.runs.reclaim({ taskId: 't-1', runId: r1.run_id, reason: 'stale journal' });

    expect(answer).toMatchObject({
      outcome: 'refused',
      reason: 'not_current_run',
      current_run_id: r2.run_id,
    });
    expect(await desk.everything()).toBe(before);
    expect(desk.processes.signals).toEqual([]);
  });

  test.each([
    ['S-12 another holder', 'replacement'],
    ['D-13 the same holder', 'worker'],
  ])(
    '%s takes the task while the old worker is stopped: the reclaim does nothing',
    async (_title, holder) => {
      const { desk, ledger } = await deskWithTask();
      desk.processes.start(42);
      const r1 = await desk.claim('t-1', { pid: 42 });
      let replacement = '';
      desk.processes.onSignal = async () => {
        const back = await ledger.runs.exited({
          taskId: 't-1',
          runId: r1.run_id,
          fence: r1.fence,
          exit: { kind: 'code', code: 75 },
        });
        expect(back).toMatchObject({ outcome: 'ended', status: 'ready' });
        replacement = (await desk.claim('t-1', { holder })).run_id;
        return false;
      };

      const answer = await ledger.runs.reclaim({
        taskId: 't-1',
        runId: r1.run_id,
        reason: 'journal for old run',
      });

      expect(answer).toMatchObject({
        outcome: 'refused',
        reason: 'changed_meanwhile',
        current_run_id: replacement,
      });
      expect(await desk.task('t-1')).toMatchObject({ status: 'running', current_run_id: replacement });
      const [running] = await ledger.leases.running();
      expect(running?.lease).toMatchObject({ run_id: replacement, holder, open: true });
    },
  );

  test('S-13 of a reclaim and a completion of one run exactly one wins', async () => {
    const { desk, ledger } = await deskWithTask();
    const r1 = await desk.claim('t-1');

    const answers = await Promise.all([
      ledger.runs.reclaim({ taskId: 't-1', runId: r1.run_id, reason: 'concurrent invalid journal' }),
      ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, fence: r1.fence, result: 'done' }),
    ]);

    expect(answers.filter((answer) => answer.outcome !== 'refused')).toHaveLength(1);
    const task = await desk.task('t-1');
    expect(['completed', 'ready']).toContain(task.status);
    expect(task.current_run_id).toBeNull();
    expect(task.runs).toHaveLength(1);
    expect(task.runs[0]?.ended_at).not.toBeNull();
  });
});

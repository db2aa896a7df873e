import { describe, expect, test } from 'vitest';
import { COMMANDED_STORES, heldBy, openDeskWithTask } from '../support/managed.ts';

describe.each(COMMANDED_STORES)('failures, splits and links of managed tasks on $name', (kind) => {
  test('U-18 U-31 what nobody holds can be neither reclaimed nor kept alive', async () => {
    const { ledger } = await openDeskWithTask(kind);

    expect(await ledger.runs.reclaim({ taskId: 't-1', runId: 'run-1' })).toMatchObject({
      outcome: 'refused',
      reason: 'not_running',
      status: 'ready',
    });
    expect(await ledger.runs.reclaim({ taskId: 't-0', runId: 'run-1' })).toMatchObject({
      outcome: 'refused',
      reason: 'no_such_task',
    });
    expect(await ledger.runs.heartbeat({ runId: 'run-1', fence: 1 })).toMatchObject({
      outcome: 'refused',
      reason: 'no_such_run',
    });
  });

  test('U-19 U-28 failures stay through a claim and are forgotten by a manual reclaim', async () => {
    const { desk, ledger, exit } = await openDeskWithTask(kind, { maxRetries: 10 });
    await exit(await desk.claim('t-1'), { kind: 'signal', signal: 'SIGSEGV' });
    await exit(await desk.claim('t-1'), { kind: 'unknown' });
    const r3 = await desk.claim('t-1');
    expect(await desk.task('t-1')).toMatchObject({
      consecutive_failures: 2,
      last_failure_error: 'the worker not alive',
    });

    await ledger.runs.reclaim({ taskId: 't-1', runId: r3.run_id });

    expect(await desk.task('t-1')).toMatchObject({
      status: 'ready',
      consecutive_failures: 0,
      last_failure_error: null,
    });
  });

  test('U-20 a task that is held is not given to somebody else', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const r1 = await desk.claim('t-1');
    expect(await ledger.tasks.assign({ taskId: 't-1', assignee: 'other' })).toMatchObject({
      outcome: 'refused',
      reason: 'task_running',
      assignee: 'worker',
    });

    await ledger.runs.reclaim({ taskId: 't-1', runId: r1.run_id });
    expect(await ledger.tasks.assign({ taskId: 't-1', assignee: 'other' })).toEqual({
      outcome: 'assigned',
      task_id: 't-1',
      status: 'ready',
    });
  });

  test('U-22 exit code 1 is a crash that counts; 75 is a wait that does not', async () => {
    const { desk, exit } = await openDeskWithTask(kind);
    expect(await exit(await desk.claim('t-1'), { kind: 'code', code: 75 })).toEqual({
      outcome: 'ended',
      task_id: 't-1',
      status: 'ready',
    });
    expect(await desk.task('t-1')).toMatchObject({
      consecutive_failures: 0,
      last_failure_error: 'rate-limited',
    });

    await exit(await desk.claim('t-1'), { kind: 'code', code: 1 });

    expect((await desk.task('t-1')).runs.map((run) => run.outcome)).toEqual(['rate_limited', 'crashed']);
    expect((await desk.task('t-1')).consecutive_failures).toBe(1);
  });

  test('U-23 three clean exits without a word block a task, waits in between or not', async () => {
    const { desk, exit } = await openDeskWithTask(kind);
    for (const code of [0, 0, 75, 0]) await exit(await desk.claim('t-1'), { kind: 'code', code });

    expect(await desk.task('t-1')).toMatchObject({ status: 'blocked', consecutive_failures: 0 });
    expect(await desk.events('t-1', 'task.gave_up')).toHaveLength(1);
    expect((await desk.events('t-1', 'run.ended'))[0]).toMatchObject({
      outcome: 'crashed',
      exit: { code: 0, protocol_violation: true },
    });
  });

  test('U-26 U-29 the breaker trips at the limit of the task, else at that of the ledger', async () => {
    const { desk, ledger, exit } = await openDeskWithTask(kind, { maxRetries: 1 });
    await exit(await desk.claim('t-1'), { kind: 'spawn_failed', error: 'no such program' });
    expect((await desk.events('t-1', 'task.gave_up'))[0]).toMatchObject({
      limit_source: 'task',
      effective_limit: 1,
      trigger_outcome: 'spawn_failed',
    });

    await ledger.tasks.create({ taskId: 't-2', title: 'slow' });
    for (let round = 0; round < 2; round += 1) {
      const run = await desk.claim('t-2');
      await ledger.runs.exited({
        taskId: 't-2',
        runId: run.run_id,
        fence: run.fence,
        exit: { kind: 'timed_out', elapsed_ms: 30_000 },
      });
    }
    expect(await desk.task('t-2')).toMatchObject({
      status: 'blocked',
      consecutive_failures: 2,
      runs: [{ outcome: 'timed_out' }, { outcome: 'timed_out' }],
    });
    expect((await desk.events('t-2', 'task.gave_up'))[0]).toMatchObject({
      limit_source: 'ledger',
      effective_limit: 2,
      trigger_outcome: 'timed_out',
    });
    expect(await ledger.tasks.unblock({ taskId: 't-2' })).toMatchObject({ status: 'ready' });
    expect((await desk.task('t-2')).consecutive_failures).toBe(0);
  });

  test('U-33 a task that waits for an open parent is ready once the parent is done', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const r1 = await desk.claim('t-1');
    await ledger.tasks.create({ taskId: 'parent', title: 'first' });
    await ledger.tasks.link({ taskId: 't-1', parentId: 'parent' });
    expect(await ledger.runs.block({ ...heldBy(r1), reason: 'wait', kind: 'dependency' })).toEqual({
      outcome: 'blocked',
      task_id: 't-1',
      status: 'todo',
    });
    expect(await desk.task('t-1')).toMatchObject({ block_kind: 'dependency', block_recurrences: 0 });
    expect(await ledger.runs.claim({ taskId: 't-1', holder: 'h' })).toMatchObject({
      outcome: 'none',
      reason: 'parents_open',
      parents: ['parent'],
    });
    expect(await ledger.tasks.promote({ taskId: 't-1', actor: 'ann' })).toMatchObject({
      outcome: 'refused',
      reason: 'parents_open',
    });

    const parent = await desk.claim('parent');
    await ledger.runs.complete({ taskId: 'parent', runId: parent.run_id, fence: parent.fence, result: 1 });

    expect((await desk.task('t-1')).status).toBe('ready');
  });

  test('U-34 waiting for nothing needs a person, and a loop of it ends in triage', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await desk.claimAndBlock('t-1', 'dependency');
    expect((await desk.events('t-1', 'task.blocked'))[0]).toMatchObject({
      kind: 'needs_input',
      recurrences: 1,
      requested_kind: 'dependency',
      rekind_reason: 'no_open_parent',
    });
    await ledger.tasks.unblock({ taskId: 't-1' });
    await desk.claimAndBlock('t-1', 'dependency');

    expect((await desk.task('t-1')).status).toBe('triage');
  });

  test('U-35 U-36 a blocked task stays blocked whatever its parents do', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await ledger.tasks.create({ taskId: 'held', title: 'held', initial: 'blocked', parents: ['t-1'] });
    await ledger.tasks.complete({ taskId: 't-1', operator: 'ann' });

    expect(await desk.task('held')).toMatchObject({ status: 'blocked', runs: [] });
    expect(await ledger.tasks.unblock({ taskId: 'held' })).toMatchObject({ status: 'ready' });
  });

  test('U-38 a split task waits for its parts, and they for each other', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await desk.toTriage('t-1');

    const split = await ledger.tasks.decompose({
      taskId: 't-1',
      rootAssignee: 'orchestrator',
      author: 'ann',
      children: [
        { taskId: 'c-0', title: 'first' },
        { taskId: 'c-1', title: 'second', parents: ['c-0'] },
      ],
    });

    expect(split).toEqual({
      outcome: 'decomposed',
      task_id: 't-1',
      status: 'todo',
      children: ['c-0', 'c-1'],
    });
    expect(await desk.task('t-1')).toMatchObject({
      status: 'todo',
      assignee: 'orchestrator',
      parents: ['c-0', 'c-1'],
    });
    expect([(await desk.task('c-0')).status, (await desk.task('c-1')).status]).toEqual(['ready', 'todo']);
    expect((await desk.events('t-1', 'task.commented'))[0]).toMatchObject({ author: 'ann' });
    await ledger.tasks.complete({ taskId: 'c-0', operator: 'ann' });
    expect((await desk.task('c-1')).status).toBe('ready');
    await ledger.tasks.archive({ taskId: 'c-1' });
    expect((await desk.task('t-1')).status).toBe('ready');
    expect(await ledger.tasks.decompose({ taskId: 't-1', children: [{ title: 'again' }] })).toMatchObject({
      outcome: 'refused',
      reason: 'decomposed',
    });
  });

  test('links in a circle, to oneself and to nobody are refused', async () => {
    const { ledger } = await openDeskWithTask(kind);
    await ledger.tasks.create({ taskId: 't-2', title: 'second', parents: ['t-1'] });
    await ledger.tasks.create({ taskId: 't-3', title: 'third', parents: ['t-2'] });

    expect(await ledger.tasks.link({ taskId: 't-1', parentId: 't-3' })).toMatchObject({
      outcome: 'refused',
      reason: 'link_cycle',
    });
    expect(await ledger.tasks.link({ taskId: 't-1', parentId: 't-1' })).toMatchObject({
      outcome: 'refused',
      reason: 'link_cycle',
    });
    expect(await ledger.tasks.link({ taskId: 't-1', parentId: 't-9' })).toMatchObject({
      outcome: 'refused',
      reason: 'no_such_parent',
    });
    expect(await ledger.tasks.link({ taskId: 't-3', parentId: 't-1' })).toMatchObject({
      outcome: 'linked',
      status: 'todo',
    });
    expect(await ledger.tasks.create({ taskId: 't-1', title: 'twice' })).toMatchObject({
      outcome: 'refused',
      reason: 'task_exists',
    });
    expect(await ledger.tasks.create({ taskId: 't-4', title: 'x', parents: ['t-9'] })).toMatchObject({
      outcome: 'refused',
      reason: 'no_such_parent',
    });
  });

  test('a claim without a task gets the oldest of the highest priority, then nothing', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await ledger.tasks.create({ taskId: 't-2', title: 'urgent', priority: 5 });
    await ledger.tasks.create({ taskId: 't-3', title: 'urgent too', priority: 5 });

    const order = [];
    for (let round = 0; round < 4; round += 1) {
      const answer = await ledger.runs.claim({ holder: `h-${round}` });
      order.push(answer.outcome === 'claimed' ? answer.task_id : answer.reason);
    }
    expect(order).toEqual(['t-2', 't-3', 't-1', 'nothing_claimable']);
    expect((await ledger.leases.running()).length).toBe(3);
    expect(await ledger.runs.claim({ taskId: 't-1', holder: 'x' })).toMatchObject({
      outcome: 'none',
      reason: 'in_flight',
    });
    expect((await desk.task('t-1')).runs).toHaveLength(1);
  });

  test('a failed and a cancelled task are over, and their rows say why', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await ledger.tasks.create({ taskId: 't-2', title: 'unwanted' });
    const r1 = await desk.claim('t-1');

    expect(
      await ledger.runs.fail({ ...heldBy(r1), reason: 'provider_unavailable', error: 'no answer' }),
    ).toEqual({ outcome: 'failed', task_id: 't-1', status: 'failed' });
    expect(await ledger.tasks.cancel({ taskId: 't-2', reason: 'duplicate' })).toEqual({
      outcome: 'cancelled',
      task_id: 't-2',
      status: 'cancelled',
    });

    expect(await desk.row('t-1')).toMatchObject({
      status: 'failed',
      reason_code: 'provider_unavailable',
      error: 'no answer',
      delegated_runs_started: 0,
      actual_substrate: 'native_only',
    });
    expect(await desk.row('t-2')).toMatchObject({ status: 'cancelled', reason_code: 'duplicate' });
    expect(await ledger.tasks.cancel({ taskId: 't-1' })).toMatchObject({
      outcome: 'refused',
      reason: 'task_ended',
      status: 'failed',
    });
    expect(await ledger.runs.list('t-1')).toMatchObject([{ outcome: 'failed', error: 'no answer' }]);
  });
});

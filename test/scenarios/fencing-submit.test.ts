import { EPOCH_DOCUMENT, parseEpoch } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { MANAGING_STORES, openDesk } from '../support/managed.ts';
import { rowOf } from '../support/row.ts';

describe.each(MANAGING_STORES)('fences and submits on $name', (kind) => {
  async function failedOver() {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    await ledger.tasks.create({ taskId: 'task-1', title: 'work' });
    const claim = await desk.claim('task-1', { holder: 'h-1' });
    const raised = await ledger.raiseEpoch('failover');
    const step = {
      taskId: 'task-1',
      runId: claim.run_id,
      idempotencyKey: 'task-1:step-0',
      value: { rows: 3 },
    };
    return { desk, ledger, claim, raised, step };
  }

  test('X1 after a failover the old fence submits nothing', async () => {
    const { desk, ledger, claim, raised, step } = await failedOver();
    expect(raised).toEqual({ epoch: 2, restamped: ['task-1'] });
    expect((await ledger.head()).epoch).toBe(2);
    const before = await desk.everything();

    const answer = await ledger.runs.submit({ ...step, fence: claim.fence });

    const [restamped] = await desk.events('task-1', 'lease.restamped');
    expect(answer).toMatchObject({
      outcome: 'refused',
      reason: 'stale_fence',
      offered: claim.fence,
      current: restamped?.seq,
    });
    expect(await desk.everything()).toBe(before);
    expect(await desk.events('task-1', 'run.submitted')).toEqual([]);
  });

  test('X2 the holder, and nobody else, is told its new fence; then the submit applies', async () => {
    const { desk, ledger, claim, step } = await failedOver();
    expect(await ledger.runs.refresh({ runId: claim.run_id, holder: 'somebody' })).toMatchObject({
      outcome: 'refused',
      reason: 'not_holder',
    });

    const fresh = await ledger.runs.refresh({ runId: claim.run_id, holder: 'h-1' });
    if (fresh.outcome !== 'refreshed') throw new Error(fresh.reason);
    const answer = await ledger.runs.submit({ ...step, fence: fresh.fence });

    expect(fresh.fence).toBeGreaterThan(claim.fence);
    expect(fresh.expires_at).toBe(claim.expires_at);
    expect(answer).toEqual({ outcome: 'applied', replayed: false, value: { rows: 3 } });
    expect(await desk.events('task-1', 'run.submitted')).toHaveLength(1);
  });

  test('X3 the same submit again answers what is stored, once', async () => {
    const { desk, ledger, claim, step } = await failedOver();
    const fresh = await ledger.runs.refresh({ runId: claim.run_id, holder: 'h-1' });
    const fence = fresh.outcome === 'refreshed' ? fresh.fence : 0;
    await ledger.runs.submit({ ...step, fence });

    expect(await ledger.runs.submit({ ...step, fence })).toEqual({
      outcome: 'applied',
      replayed: true,
      value: { rows: 3 },
    });
    const later = kind.isDurable ? await desk.reopen() : ledger;
    expect(await later.runs.submit({ ...step, fence })).toEqual({
      outcome: 'applied',
      replayed: true,
      value: { rows: 3 },
    });
    expect(await later.runs.submit({ ...step, fence: claim.fence })).toMatchObject({
      outcome: 'refused',
      reason: 'stale_fence',
    });
  });

  test('X4 a key stands for one value and one task for ever', async () => {
    const { desk, ledger, claim, step } = await failedOver();
    const fresh = await ledger.runs.refresh({ runId: claim.run_id, holder: 'h-1' });
    const fence = fresh.outcome === 'refreshed' ? fresh.fence : 0;
    await ledger.runs.submit({ ...step, fence });
    await ledger.tasks.create({ taskId: 'task-2', title: 'other work' });
    const other = await desk.claim('task-2');
    const before = await desk.everything();

    expect(await ledger.runs.submit({ ...step, fence, value: { rows: 4 } })).toMatchObject({
      outcome: 'refused',
      reason: 'idempotency_conflict',
    });
    expect(
      await ledger.runs.submit({ ...step, taskId: 'task-2', runId: other.run_id, fence: other.fence }),
    ).toMatchObject({
      outcome: 'refused',
      reason: 'idempotency_conflict',
      recorded_task_id: 'task-1',
    });
    expect(await desk.everything()).toBe(before);
  });

  test('a key is known as long as the task, by another run of it too', async () => {
    const { desk, ledger } = await failedOver();
    await ledger.tasks.create({ taskId: 't-1', title: 'work' });
    const r1 = await desk.claim('t-1');
    await ledger.runs.submit({
      taskId: 't-1',
      runId: r1.run_id,
      fence: r1.fence,
      idempotencyKey: 'step',
      value: 1,
    });
    await ledger.runs.reclaim({ taskId: 't-1', runId: r1.run_id });
    const r2 = await desk.claim('t-1');

    expect(
      await ledger.runs.submit({
        taskId: 't-1',
        runId: r2.run_id,
        fence: r2.fence,
        idempotencyKey: 'step',
        value: 1,
      }),
    ).toEqual({
      outcome: 'applied',
      replayed: true,
      value: 1,
    });
    expect(r2.fence).toBeGreaterThan(r1.fence);
  });

  test('X9 leases run out by the clock of the store, whatever the hosts believe', async () => {
    const { desk, ledger } = await failedOver();
    await ledger.tasks.create({ taskId: 't-1', title: 'work' });
    const r1 = await desk.claim('t-1', { ttlMs: 60_000 });

    const seen = { taskId: 't-1', runId: r1.run_id, fence: r1.fence };
    desk.clock.advance(60_000);
    expect(await ledger.leases.release(seen)).toMatchObject({ outcome: 'refused', reason: 'not_expired' });
    expect(await ledger.runs.claim({ taskId: 't-1', holder: 'other' })).toMatchObject({
      outcome: 'none',
      reason: 'in_flight',
    });
    expect(await ledger.runs.heartbeat(r1ToHeld(r1))).toEqual({
      outcome: 'extended',
      expires_at: new Date(desk.clock.now() + 60_000).toISOString(),
    });

    desk.clock.advance(60_001);
    expect(await ledger.leases.release(seen)).toMatchObject({ outcome: 'requeued', status: 'ready' });
    const r2 = await desk.claim('t-1', { holder: 'other' });
    expect(await ledger.runs.complete({ ...seen, result: 'late' })).toMatchObject({
      outcome: 'refused',
      reason: 'stale_fence',
      current: r2.fence,
    });
  });

  function r1ToHeld(run: { readonly run_id: string; readonly fence: number }) {
    return { runId: run.run_id, fence: run.fence };
  }
});

describe.each(MANAGING_STORES)('the nodes of a failover on $name', (kind) => {
  test('are kept with the epoch that it raised, until somebody raises the next', async () => {
    const { ledger } = await openDesk(kind);
    const kept = async () => parseEpoch(await ledger.state.load(EPOCH_DOCUMENT));
    expect(await kept()).toBeNull();
    const failover = { from_node: 'primary', to_node: 'replica' };

    await ledger.raiseEpoch('the primary died', failover);
    expect(await kept()).toEqual({ epoch: 2, failover });
    await ledger.raiseEpoch('by hand');
    expect(await kept()).toEqual({ epoch: 3, failover: null });

    const raised = await collect(ledger.read({ type: 'ledger.epoch_raised' }));
    expect(raised.map(({ event }) => event)).toMatchObject([
      { raised_to: 2, reason: 'the primary died', ...failover },
      { raised_to: 3, reason: 'by hand' },
    ]);
  });
});

describe.each(MANAGING_STORES.filter((store) => store.isDurable))('two handles on $name', (kind) => {
  test('X5 a handle of an older epoch changes no managed task', async () => {
    const desk = await openDesk(kind);
    await desk.ledger.tasks.create({ taskId: 't-1', title: 'work' });
    const old = await desk.another();
    const r1 = await desk.claim('t-1');
    await desk.ledger.raiseEpoch('failover');
    const before = await desk.everything();

    for (const answer of [
      await old.tasks.create({ taskId: 't-2', title: 'more' }),
      await old.runs.heartbeat({ runId: r1.run_id, fence: r1.fence }),
      await old.runs.submit({
        taskId: 't-1',
        runId: r1.run_id,
        fence: r1.fence,
        idempotencyKey: 'k',
        value: 1,
      }),
      await old.runs.complete({ taskId: 't-1', runId: r1.run_id, fence: r1.fence, result: 'late' }),
    ]) {
      expect(answer).toMatchObject({ outcome: 'refused', reason: 'stale_epoch', offered: 1, current: 2 });
    }
    expect(await old.runs.claim({ holder: 'h' })).toMatchObject({ outcome: 'none', reason: 'stale_epoch' });
    expect(await desk.everything()).toBe(before);
  });

  test('X5 a handle of an older epoch appends nothing, heals nothing, moves no cursor and leads nobody', async () => {
    const desk = await openDesk(kind);
    const old = await desk.another();
    await old.append([{ type: 'run.started', run_id: 'r-1', task_id: 't-1' }]);
    await old.rows.put([rowOf('t-1', { status: 'failed' })]);
    const healer = createReconciler(old);
    await desk.ledger.raiseEpoch('failover');
    const before = await desk.everything();
    const stale = { code: 'stale_epoch', offered: 1, current: 2 };

    await expect(old.append([{ type: 'run.started', run_id: 'r-2', task_id: 't-1' }])).rejects.toMatchObject(
      stale,
    );
    await expect(old.rows.put([rowOf('t-2', { status: 'failed' })])).rejects.toMatchObject(stale);
    await expect(healer.backfill()).rejects.toMatchObject(stale);
    await expect(old.state.save('cursor', { seq: 1 })).rejects.toMatchObject(stale);
    await expect(old.leaders.tryLead('sweep', 'old', 1000)).rejects.toMatchObject(stale);
    const taken = { from_node: 'replica', to_node: 'primary' };
    await expect(old.raiseEpoch('back again', taken)).rejects.toMatchObject(stale);
    expect(parseEpoch(await old.state.load(EPOCH_DOCUMENT))).toEqual({ epoch: 2, failover: null });
    expect(await desk.everything()).toBe(before);
  });
});

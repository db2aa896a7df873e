import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { heldBy, MANAGING_STORES, openDeskWithTask } from '../support/managed.ts';

describe.each(MANAGING_STORES)('blocks that others ran in circles, on $name', (kind) => {
  test('F-47: a block of a worker stays through five ticks: nothing is claimed, nothing is written', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await desk.claimAndBlock('t-1', 'capability');
    const before = await desk.everything();

    for (let tick = 0; tick < 5; tick += 1) {
      desk.clock.advance(3_600_000);
      expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: [] });
      expect(await ledger.runs.claim({ holder: 'dispatcher' })).toMatchObject({
        outcome: 'none',
        reason: 'nothing_claimable',
      });
    }

    expect(await desk.everything()).toBe(before);
  });

  test('F-49: specifying a task in triage does not forget how often it was blocked for that reason', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await desk.claimAndBlock('t-1', 'capability');
    await ledger.tasks.unblock({ taskId: 't-1' });
    await desk.claimAndBlock('t-1', 'capability');
    expect(await desk.task('t-1')).toMatchObject({ status: 'triage', block_recurrences: 2 });

    await ledger.tasks.specify({ taskId: 't-1', title: 'smaller' });
    await desk.claimAndBlock('t-1', 'capability');

    expect(await desk.task('t-1')).toMatchObject({ status: 'triage', block_recurrences: 3 });
    const loops = await desk.events('t-1', 'task.block_loop_detected');
    expect(loops.map((event) => event['recurrences'])).toEqual([2, 3]);
  });

  test('F-50: a task that a loop sent to triage is split and specified by nobody but a person', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await desk.toTriage('t-1');
    const before = await desk.everything();

    for (let tick = 0; tick < 5; tick += 1) {
      desk.clock.advance(3_600_000);
      await createReconciler(ledger).sweep();
      expect(await ledger.runs.claim({ holder: 'dispatcher' })).toMatchObject({ outcome: 'none' });
    }

    expect(await desk.everything()).toBe(before);
  });

  test('F-51: thirty dispatches of a task that waits for nothing end at the second block', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    let runs = 0;
    for (let minute = 0; minute < 30; minute += 1) {
      const claim = await ledger.runs.claim({ taskId: 't-1', holder: 'worker' });
      if (claim.outcome === 'claimed') {
        runs += 1;
        await ledger.runs.block({ ...heldBy(claim), reason: 'waits', kind: 'dependency' });
        if (runs === 1)
          expect(await desk.task('t-1')).toMatchObject({
            status: 'blocked',
            block_kind: 'needs_input',
            block_recurrences: 1,
          });
        // Somebody unblocks it without a thought, as the dispatcher did.
        await ledger.tasks.unblock({ taskId: 't-1' });
      }
      desk.clock.advance(60_000);
      await createReconciler(ledger).sweep();
    }

    expect(runs).toBe(2);
    expect((await desk.task('t-1')).status).toBe('triage');
  });

  test('F-52: a part that was made to wait is not promoted by the next tick', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await ledger.tasks.create({ taskId: 't-2', title: 'not yet', initial: 'blocked', parents: ['t-1'] });
    await ledger.tasks.complete({ taskId: 't-1', operator: 'ann' });

    await createReconciler(ledger).sweep();

    expect((await desk.task('t-2')).status).toBe('blocked');
    expect(await ledger.runs.claim({ holder: 'dispatcher' })).toMatchObject({ outcome: 'none' });
  });

  test('F-53: of two splits of one task at once one counts, and there are the children of one', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await ledger.tasks.create({ taskId: 't-root', title: 'too large', initial: 'triage' });
    const split = (who: string) =>
      ledger.tasks.decompose({
        taskId: 't-root',
        children: [
          { taskId: `t-${who}-1`, title: 'half' },
          { taskId: `t-${who}-2`, title: 'half' },
        ],
      });

    const answers = await Promise.all([split('a'), split('b')]);
    const third = await split('c');

    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['decomposed', 'refused']);
    expect(third).toMatchObject({ outcome: 'refused', reason: 'decomposed' });
    expect((await desk.task('t-root')).parents).toHaveLength(2);
    const made = await Promise.all(['a', 'b', 'c'].map((who) => ledger.tasks.get(`t-${who}-1`)));
    expect(made.filter((task) => task !== null)).toHaveLength(1);
  });
});

describe.each(MANAGING_STORES)('failures that others counted wrong, on $name', (kind) => {
  test('F-54: failures outlive a recovery, stop the task at the limit for good, and are forgotten by who unblocks it', async () => {
    const { desk, ledger, exit } = await openDeskWithTask(kind, { maxRetries: 3 });
    const reconciler = createReconciler(ledger);
    await exit(await desk.claim('t-1'), { kind: 'code', code: 1 });
    await desk.claim('t-1', { ttlMs: 1000 });
    desk.clock.advance(600_000);
    expect(await reconciler.sweep()).toMatchObject({ requeued: ['t-1'] });
    expect((await desk.task('t-1')).consecutive_failures).toBe(2);
    await exit(await desk.claim('t-1'), { kind: 'timed_out', elapsed_ms: 900_000 });

    for (let tick = 0; tick < 5; tick += 1) {
      desk.clock.advance(3_600_000);
      await reconciler.sweep();
      expect(await ledger.runs.claim({ taskId: 't-1', holder: 'worker' })).toMatchObject({ outcome: 'none' });
    }
    expect(await desk.task('t-1')).toMatchObject({ status: 'blocked', consecutive_failures: 3 });
    expect(await ledger.runs.list('t-1')).toHaveLength(3);

    await ledger.tasks.unblock({ taskId: 't-1' });
    expect(await desk.task('t-1')).toMatchObject({ status: 'ready', consecutive_failures: 0 });
  });

  test('F-55 and F-56: forty-two walls of a quota are no failure, and each of them is kept', async () => {
    const { desk, ledger, exit } = await openDeskWithTask(kind);
    for (let wall = 0; wall < 42; wall += 1)
      expect(await exit(await desk.claim('t-1'), { kind: 'code', code: 75 })).toMatchObject({
        status: 'ready',
      });

    expect(await desk.task('t-1')).toMatchObject({ status: 'ready', consecutive_failures: 0 });
    const runs = await ledger.runs.list('t-1');
    expect(runs).toHaveLength(42);
    expect(new Set(runs.map(({ outcome }) => outcome))).toEqual(new Set(['rate_limited']));
  });

  test('F-70: a task in progress whose session is gone does not stay in progress', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const states: string[] = [];
    for (let tick = 0; tick < 10; tick += 1) {
      await ledger.runs.claim({ taskId: 't-1', holder: 'gone', ttlMs: 1000 });
      desk.clock.advance(600_000);
      await createReconciler(ledger).sweep();
      states.push((await desk.task('t-1')).status);
      expect(await ledger.leases.running()).toEqual([]);
    }

    expect(states).toEqual(['ready', ...Array<string>(9).fill('blocked')]);
    expect((await desk.row('t-1'))['status']).toBe('blocked');
  });
});

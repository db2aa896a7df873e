import { describe, expect, test } from 'vitest';
import { heldBy, MANAGING_STORES, openDeskWithTask } from '../support/managed.ts';

describe.each(MANAGING_STORES)('answers of commands on $name', (kind) => {
  test('each tells of the moment of its own write, also where the next one follows at once', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const run = await desk.claim('t-1');

    const [blocked, unblocked, cancelled] = await Promise.all([
      ledger.runs.block({ ...heldBy(run), reason: 'stuck', kind: 'capability' }),
      ledger.tasks.unblock({ taskId: 't-1' }),
      ledger.tasks.cancel({ taskId: 't-1' }),
    ]);

    expect(blocked).toEqual({ outcome: 'blocked', task_id: 't-1', status: 'blocked' });
    expect(unblocked).toEqual({ outcome: 'unblocked', task_id: 't-1', status: 'ready' });
    expect(cancelled).toEqual({ outcome: 'cancelled', task_id: 't-1', status: 'cancelled' });
  });

  test('a claim that is asked for again by its id is told of its own task, although another one is ready', async () => {
    const { ledger } = await openDeskWithTask(kind);
    await ledger.tasks.create({ taskId: 't-2', title: 'more' });
    const claim = () => ledger.once('request-1').runs.claim({ holder: 'worker' });

    const first = await claim();

    expect(first).toMatchObject({ outcome: 'claimed', task_id: 't-1' });
    expect(await claim()).toEqual(first);
  });
});

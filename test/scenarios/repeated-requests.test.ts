import { describe, expect, test } from 'vitest';
import { DURABLE_STORES } from '../contract/stores.ts';
import { COMMANDED_STORES, MANAGING_STORES, openDesk, openDeskWithTask } from '../support/managed.ts';
import { NO_RUN, VERB_CASES } from '../support/verb-cases.ts';

describe.each(COMMANDED_STORES)('a request made again, on $name', (kind) => {
  test.each(VERB_CASES)('$verb is carried out once, and answers the same again', async (verb) => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const run = (await verb.prepare(desk)) ?? NO_RUN;
    const before = (await ledger.head()).seq;

    const first = await verb.ask(ledger.once('request-1'), run);
    const written = (await ledger.head()).seq;
    const state = await desk.everything();
    const second = await verb.ask(ledger.once('request-1'), run);

    expect(first.outcome).not.toMatch(/refused|none/);
    expect(written - before).toBe(verb.events);
    expect((await ledger.head()).seq).toBe(written);
    expect(await desk.everything()).toBe(state);
    // What tells of itself that it is a repetition may say so: a submit, an ack and a finalize did before.
    const told = { replayed: expect.anything() as boolean };
    if (verb.verb === 'finalize') expect(second.outcome).toBe('already_applied');
    else expect(second).toEqual('replayed' in first ? { ...first, ...told } : first);
  });

  test('a claim made again after its run was reclaimed grants nothing', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const first = await ledger.once('request-1').runs.claim({ holder: 'worker' });
    if (first.outcome !== 'claimed') throw new Error(first.reason);
    await ledger.runs.reclaim({ taskId: 't-1', runId: first.run_id, reason: 'stuck' });
    const state = await desk.everything();

    const again = await ledger.once('request-1').runs.claim({ holder: 'worker' });

    expect(again).toMatchObject({ outcome: 'none', reason: 'not_current_run', run_id: first.run_id });
    expect(await desk.everything()).toBe(state);
  });

  test('an id that stands for another command is refused, and nothing is written', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await ledger.once('request-1').tasks.comment({ taskId: 't-1', author: 'ann', body: 'hm' });
    await ledger.append([{ id: 'event-1', type: 'x.note', task_id: 't-9' }]);
    const state = await desk.everything();

    const asked = [
      () => ledger.once('request-1').tasks.cancel({ taskId: 't-1' }),
      () => ledger.once('event-1').tasks.comment({ taskId: 't-1', author: 'ann', body: 'hm' }),
    ];

    for (const ask of asked)
      await expect(ask()).rejects.toMatchObject({ code: 'event_id_conflict', field: 'request_id' });
    expect(await desk.everything()).toBe(state);
  });

  test('a request that was refused is judged anew when it is made again', async () => {
    const { ledger } = await openDeskWithTask(kind);
    const ask = () => ledger.once('request-1').tasks.unblock({ taskId: 't-1' });

    expect(await ask()).toMatchObject({ outcome: 'refused', reason: 'not_blocked' });
    await ledger.tasks.block({ taskId: 't-1' });

    expect(await ask()).toMatchObject({ outcome: 'unblocked', status: 'ready' });
  });
});

describe.each(DURABLE_STORES.filter((store) => MANAGING_STORES.includes(store)))(
  'a request made again on $name, opened anew',
  (kind) => {
    test('the log knows a claim of before a restart and a failover, and tells its fence of now', async () => {
      const desk = await openDesk(kind);
      await desk.ledger.tasks.create({ taskId: 't-1', title: 'work' });
      const first = await desk.ledger.once('request-1').runs.claim({ holder: 'worker' });
      if (first.outcome !== 'claimed') throw new Error(first.reason);

      const reopened = await desk.reopen();
      await reopened.raiseEpoch('the host died');
      const again = await reopened.once('request-1').runs.claim({ holder: 'worker' });

      expect(again).toMatchObject({ outcome: 'claimed', task_id: 't-1', run_id: first.run_id });
      expect(again.outcome === 'claimed' && again.fence).toBeGreaterThan(first.fence);
      expect(await reopened.runs.list('t-1')).toHaveLength(1);
    });

    test('two handles that are asked at the same time carry it out once', async () => {
      const { ledger, another } = await openDesk(kind);
      const other = await another();
      for (let round = 0; round < 20; round += 1) {
        await ledger.tasks.create({ taskId: `t-${round}`, title: 'work' });
        const ask = (of: typeof ledger) => of.once(`request-${round}`).runs.claim({ holder: 'worker' });

        const [one, two] = await Promise.all([ask(ledger), ask(other)]);

        expect(one).toMatchObject({ outcome: 'claimed', task_id: `t-${round}` });
        expect(two).toEqual(one);
        expect(await ledger.runs.list(`t-${round}`)).toHaveLength(1);
      }
    });
  },
);

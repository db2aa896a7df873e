import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { MANAGING_STORES } from '../support/managed.ts';

const OBSERVING = STORES.filter((store) => !MANAGING_STORES.includes(store));

test('some stores only observe', () => {
  expect(OBSERVING.map((store) => store.name)).toEqual(['jsonl', 'jsonl (ouroboros)']);
});

describe.each(OBSERVING)('managed tasks on $name', (kind) => {
  test('every command is refused with the way out, and writes nothing', async () => {
    const { ledger } = await kind.open();
    const held = { taskId: 't-1', runId: 'run-1', fence: 1 };
    expect(ledger.managesTasks).toBe(false);

    for (const call of [
      () => ledger.tasks.create({ taskId: 't-1', title: 'work' }),
      () => ledger.tasks.create({ title: 'work' }),
      () => ledger.tasks.get('t-1'),
      () => ledger.tasks.link({ taskId: 't-1', parentId: 't-2' }),
      () => ledger.tasks.assign({ taskId: 't-1', assignee: 'ann' }),
      () => ledger.tasks.comment({ taskId: 't-1', author: 'ann', body: 'hm' }),
      () => ledger.tasks.block({ taskId: 't-1' }),
      () => ledger.tasks.unblock({ taskId: 't-1' }),
      () => ledger.tasks.specify({ taskId: 't-1' }),
      () => ledger.tasks.decompose({ taskId: 't-1', children: [{ title: 'part' }] }),
      () => ledger.tasks.promote({ taskId: 't-1', actor: 'ann' }),
      () => ledger.tasks.complete({ taskId: 't-1', operator: 'ann' }),
      () => ledger.tasks.cancel({ taskId: 't-1' }),
      () => ledger.tasks.archive({ taskId: 't-1' }),
      () => ledger.runs.claim({ holder: 'h' }),
      () => ledger.runs.heartbeat(held),
      () => ledger.runs.refresh({ runId: 'run-1', holder: 'h' }),
      () => ledger.runs.push({ ...held, state: 'working' }),
      () => ledger.runs.submit({ ...held, idempotencyKey: 'k', value: 1 }),
      () => ledger.runs.complete({ ...held, result: 'x' }),
      () => ledger.runs.finalize({ taskId: 't-1', runId: 'run-1', result: 'x' }),
      () => ledger.runs.fail({ ...held, reason: 'x' }),
      () => ledger.runs.block({ ...held, reason: 'x' }),
      () => ledger.runs.exited({ ...held, exit: { kind: 'unknown' } }),
      () => ledger.runs.reclaim({ taskId: 't-1', runId: 'run-1' }),
      () => ledger.runs.list('t-1'),
      () => ledger.leases.running(),
      () => ledger.raiseEpoch('failover'),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: 'not_supported',
        hint: expect.stringContaining('event import'),
      });
    }
    expect((await ledger.head()).seq).toBe(0);
  });
});

import { describe, expect, test } from 'vitest';
import { COMMANDED_STORES, openDesk } from '../support/managed.ts';

describe.each(COMMANDED_STORES)('commands that wait at the same time on $name', (kind) => {
  test('are carried out one after the other: every claim gets a task of its own', async () => {
    const { ledger } = await openDesk(kind);
    await Promise.all(
      Array.from({ length: 250 }, (_, index) => ledger.tasks.create({ taskId: `t-${index}`, title: 'work' })),
    );

    const claims = await Promise.all(
      Array.from({ length: 260 }, (_, index) => ledger.runs.claim({ holder: `h-${index}` })),
    );

    const granted = claims.flatMap((claim) => (claim.outcome === 'claimed' ? [claim] : []));
    expect(new Set(granted.map((claim) => claim.task_id)).size).toBe(250);
    expect(new Set(granted.map((claim) => claim.fence)).size).toBe(250);
    expect(claims.filter((claim) => claim.outcome === 'none')).toHaveLength(10);

    const answers = await Promise.all(
      granted.flatMap((run) => {
        const held = { taskId: run.task_id, runId: run.run_id, fence: run.fence };
        return [ledger.runs.complete({ ...held, result: 1 }), ledger.runs.complete({ ...held, result: 2 })];
      }),
    );
    expect(answers.filter((answer) => answer.outcome === 'completed')).toHaveLength(250);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  });

  test('do not fail with each other: what no event can hold is refused alone', async () => {
    const { ledger } = await openDesk(kind);

    const outcomes = await Promise.allSettled([
      ledger.tasks.create({ taskId: 't-1', title: 'first' }),
      ledger.tasks.create({ taskId: 't-2', title: 'a\u0000b' }),
      ledger.tasks.create({ taskId: 't-1', title: 'twice' }),
      ledger.tasks.create({ taskId: 't-3', title: 'last', parents: ['t-1'] }),
    ]);

    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: { outcome: 'created', status: 'ready' } },
      { status: 'rejected', reason: { code: 'invalid_event', field: 'title' } },
      { status: 'fulfilled', value: { outcome: 'refused', reason: 'task_exists' } },
      { status: 'fulfilled', value: { outcome: 'created', status: 'todo' } },
    ]);
    expect(await ledger.tasks.get('t-2')).toBeNull();
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  });
});

import type { BackfillReport } from '@custody/reconciler';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { settled, started } from '../support/events.ts';
import { failedRow, fingerprint, listOf, putRow } from '../support/terminal-rows.ts';

describe.each(STORES)('plans on $name', (kind) => {
  async function lyingRows() {
    const store = await kind.open();
    await store.ledger.append([started('run-1', 't-1'), settled('run-1'), started('run-2', 't-2')]);
    for (const id of ['t-1', 't-2']) await putRow(store.ledger, failedRow(id, ['run-gone']));
    return { ...store, reconciler: createReconciler(store.ledger) };
  }

  test('a dry run says what would change and because of what, and writes nothing', async () => {
    const { ledger, directory, reconciler } = await lyingRows();
    const before = await fingerprint({ ledger, directory });

    const dry = (await reconciler.backfill({ dryRun: true })) as BackfillReport;

    expect(dry).toMatchObject({ refreshed: ['t-1', 't-2'], failed: [] });
    expect(dry.plan).toMatchObject([
      {
        task_id: 't-1',
        before: { delegated_runs_unreconciled: ['run-gone'] },
        after: { delegated_runs_unreconciled: [] },
        because: [2],
      },
      {
        task_id: 't-2',
        before: { delegated_runs_unreconciled: ['run-gone'] },
        after: { delegated_runs_unreconciled: ['run-2'] },
        because: [3],
      },
    ]);
    expect(await fingerprint({ ledger, directory })).toEqual(before);
  });

  test('a plan is applied as it was shown', async () => {
    const { ledger, reconciler } = await lyingRows();
    const { plan_hash } = (await reconciler.backfill({ dryRun: true })) as BackfillReport;

    expect(await reconciler.backfill({ plan: plan_hash ?? '' })).toMatchObject({ refreshed: ['t-1', 't-2'] });

    expect(await listOf(ledger, 't-2')).toEqual(['run-2']);
  });

  test('a plan that one event made stale is refused, and nothing is written', async () => {
    const { ledger, directory, reconciler } = await lyingRows();
    const { plan_hash } = (await reconciler.backfill({ dryRun: true })) as BackfillReport;
    await ledger.append([started('run-9', 't-9')]);
    const before = await fingerprint({ ledger, directory });

    expect(await reconciler.backfill({ plan: plan_hash ?? '' })).toMatchObject({
      outcome: 'refused',
      reason: 'plan_changed',
    });

    expect(await fingerprint({ ledger, directory })).toEqual(before);
  });

  test('a sweep and a clear have plans, too', async () => {
    const { ledger, reconciler } = await lyingRows();

    const sweep = await reconciler.sweep({ dryRun: true });
    expect(sweep).toMatchObject({ refreshed: ['t-1'], plan: [{ task_id: 't-1' }] });
    if (!('plan_hash' in sweep)) throw new Error('no plan');
    expect(await ledger.state.load('refresh_cursor')).toBeNull();
    expect(await reconciler.sweep({ plan: sweep.plan_hash ?? '' })).toMatchObject({ refreshed: ['t-1'] });
    expect(await reconciler.sweep()).toMatchObject({ refreshed: [], events_scanned: expect.any(Number) });

    const clear = await reconciler.clear('t-2', { dryRun: true });
    expect(clear).toMatchObject({ refreshed: true, plan: [{ task_id: 't-2' }] });
    expect(await reconciler.clear('t-2', { plan: 'f'.repeat(64) })).toMatchObject({
      outcome: 'refused',
      reason: 'plan_changed',
    });
    expect(await listOf(ledger, 't-2')).toEqual(['run-gone']);
  });
});

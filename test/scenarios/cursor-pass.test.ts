import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { settled, started } from '../support/events.ts';
import { manualClock } from '../support/manual-clock.ts';
import {
  counters,
  evidenceIn,
  failedRow,
  fingerprint,
  listOf,
  putRow,
  rowOf,
} from '../support/terminal-rows.ts';

const CURSOR = 'refresh_cursor';
const attempted = { ...counters(1, 0), actual_substrate: 'harness_attempted' };

describe.each(STORES)('the cursor pass on $name', (kind) => {
  test('S22: it heals what settled since the last pass, once', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-9', 't-boundary')]);
    await putRow(ledger, failedRow('t-boundary', [], attempted));
    await ledger.append([settled('run-9')]);
    const reconciler = createReconciler(ledger);

    expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-boundary'] });
    expect(await rowOf(ledger, 't-boundary')).toMatchObject({
      actual_substrate: 'harness_used',
      delegated_runs_succeeded: 0,
    });
    expect(await evidenceIn(ledger, 't-boundary')).toMatchObject({ delegated_runs_succeeded: 1 });

    expect(await reconciler.sweep()).toMatchObject({ refreshed: [] });
  });

  test('S23: a task that lives long does not starve those that settle after it', async () => {
    const { ledger } = await kind.open();
    const reconciler = createReconciler(ledger);
    await ledger.append([started('run-a', 't-longlived'), settled('run-a')]);
    await putRow(ledger, { task_id: 't-longlived', status: 'running', ...attempted });

    expect(await reconciler.sweep()).toMatchObject({ refreshed: [], deferred: ['t-longlived'] });
    const { position } = (await ledger.state.load(CURSOR)) ?? {};
    expect(position).not.toBeNull();

    await ledger.append([started('run-b', 't-later'), settled('run-b')]);
    await putRow(ledger, failedRow('t-later', [], attempted));
    expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-later'], deferred: ['t-longlived'] });

    await putRow(ledger, { task_id: 't-longlived', status: 'failed' });
    expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-longlived'], deferred: [] });
    expect(await rowOf(ledger, 't-longlived')).toMatchObject({ actual_substrate: 'harness_used' });
    expect(await ledger.state.load(CURSOR)).toMatchObject({ deferred: {} });
  });

  test('S24: a terminal row whose owner still lives waits for it', async () => {
    const { ledger } = await kind.open();
    let live: readonly string[] = ['t-still-billing'];
    const reconciler = createReconciler(ledger, { liveTaskIds: () => live });
    await ledger.append([started('run-live', 't-still-billing'), settled('run-live')]);
    await putRow(ledger, failedRow('t-still-billing', [], attempted));

    expect(await reconciler.sweep()).toMatchObject({ refreshed: [], deferred: ['t-still-billing'] });
    expect(await rowOf(ledger, 't-still-billing')).toMatchObject({ actual_substrate: 'harness_attempted' });

    live = [];
    expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-still-billing'], deferred: [] });
  });

  test('C5: more than 500 deferred tasks keep the newest, and a backfill finds the others (V4)', async () => {
    const clock = manualClock();
    const { ledger } = await kind.open({ clock });
    const reconciler = createReconciler(ledger);
    await ledger.append([started('run-0', 't-oldest'), settled('run-0')]);
    expect(await reconciler.sweep()).toMatchObject({ deferred: ['t-oldest'] });
    clock.advance(1000);
    const ids = Array.from({ length: 500 }, (_, index) => `t-${String(index).padStart(3, '0')}`);
    await ledger.append(ids.flatMap((id) => [started(`run-${id}`, id), settled(`run-${id}`)]));

    const report = await reconciler.sweep();

    expect(report).toMatchObject({ deferred: ids });
    await putRow(ledger, failedRow('t-oldest', [], attempted));
    expect(await reconciler.sweep()).toMatchObject({ refreshed: [] });
    expect(await reconciler.backfill()).toMatchObject({ refreshed: ['t-oldest'] });
  });

  test('C6: a pass with nothing new and nothing deferred does not save the cursor again', async () => {
    const { ledger, directory } = await kind.open();
    const reconciler = createReconciler(ledger);
    await ledger.append([started('run-1', 't-1'), settled('run-1')]);
    await putRow(ledger, failedRow('t-1', ['run-1']));
    await reconciler.sweep();
    await reconciler.sweep();
    const saved = await ledger.state.load(CURSOR);
    const before = await fingerprint({ ledger, directory });

    expect(await reconciler.sweep()).toMatchObject({ events_scanned: 0, refreshed: [], deferred: [] });

    expect(await ledger.state.load(CURSOR)).toEqual(saved);
    expect(await fingerprint({ ledger, directory })).toEqual(before);
  });

  test('C7: with liveness unknown the terminal row of a busy owner is healed', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1'), settled('run-1')]);
    await putRow(ledger, failedRow('t-1', ['run-1']));

    expect(await createReconciler(ledger, { liveTaskIds: () => null }).sweep()).toMatchObject({
      refreshed: ['t-1'],
    });
    expect(await listOf(ledger, 't-1')).toEqual([]);
  });

  test('C7 and P15: a liveness question that fails is unknown, not fatal', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1'), settled('run-1')]);
    await putRow(ledger, failedRow('t-1', ['run-1']));
    const liveTaskIds = () => Promise.reject(new Error('the supervisor is away'));

    expect(await createReconciler(ledger, { liveTaskIds }).sweep()).toMatchObject({
      refreshed: ['t-1'],
      orphans: [],
    });
  });

  test('P7: settles that come while the cursor stands are each looked at exactly once', async () => {
    const { ledger } = await kind.open();
    const reconciler = createReconciler(ledger);
    for (let round = 0; round < 5; round += 1) {
      const id = `t-${round}`;
      await ledger.append([started(`run-${round}`, id)]);
      await putRow(ledger, failedRow(id, [], attempted));
      await ledger.append([settled(`run-${round}`)]);

      expect(await reconciler.sweep()).toMatchObject({ refreshed: [id] });
    }
  });

  test('A8 and P3: after each pass a row says what an audit says', async () => {
    const { ledger } = await kind.open();
    const reconciler = createReconciler(ledger);
    await ledger.append([started('run-1', 't-1', { snapshot_id: 's-1' }), started('run-2', 't-1')]);
    await putRow(ledger, failedRow('t-1', []));
    await reconciler.backfill();
    expect(await reconciler.audit(['t-1'])).toMatchObject({
      tasks: [{ current: true, stored: ['run-1', 'run-2'] }],
    });

    await ledger.append([settled('run-1')]);
    expect(await reconciler.audit(['t-1'])).toMatchObject({ tasks: [{ current: false }] });

    await reconciler.sweep();
    expect(await reconciler.audit(['t-1'])).toMatchObject({
      tasks: [{ current: true, stored: ['run-2', 'patch:run-1'] }],
    });
  });
});

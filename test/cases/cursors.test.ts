import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { DISK_STORES, STORES } from '../contract/stores.ts';
import { settled, started } from '../support/events.ts';
import { jsonlRoot, line } from '../support/jsonl-root.ts';
import { eventsOf } from '../support/log.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';
import { counters, failedRow, fingerprint, listOf, putRow } from '../support/terminal-rows.ts';

const attempted = { ...counters(1, 0), actual_substrate: 'harness_attempted' };
const start = (run: string, task: string) => ({ id: `e-${run}`, ...started(run, task) });
const settle = (run: string, task: string) => ({ id: `s-${run}`, ...settled(run), task_id: task });

/** A task whose run settles now, and whose row does not know yet. */
async function settleOne(ledger: Ledger, name: string): Promise<void> {
  await ledger.append([start(`r-${name}`, `t-${name}`)]);
  await putRow(ledger, failedRow(`t-${name}`, [`r-${name}`], attempted));
  await ledger.append([settle(`r-${name}`, `t-${name}`)]);
}

const healsOf = async (ledger: Ledger) =>
  (await eventsOf(ledger, 'custody.reconciled')).map(({ task_id }) => String(task_id)).sort();

describe('B19: the log under the cursor is another one', () => {
  test('B19: renamed into the archive, it is read on; the fresh file from its beginning; nothing twice', async () => {
    const root = jsonlRoot();
    const ledger = await root.open();
    const reconciler = createReconciler(ledger);
    await settleOne(ledger, 'a');
    await reconciler.sweep();
    await settleOne(ledger, 'b');
    renameSync(root.log, join(root.archive, 'events_20260301T000000.jsonl'));
    root.write(line(start('r-c', 't-c')), line(settle('r-c', 't-c')));
    await putRow(ledger, failedRow('t-c', ['r-c'], attempted));

    expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-b', 't-c'], failed: [] });

    expect(await healsOf(ledger)).toEqual(['t-a', 't-b', 't-c']);
    expect(await reconciler.sweep()).toMatchObject({ refreshed: [] });
  });

  test('B19: copied and then cut in place, what the copy holds is read once', async () => {
    const root = jsonlRoot();
    const ledger = await root.open();
    const reconciler = createReconciler(ledger);
    await settleOne(ledger, 'a');
    await reconciler.sweep();
    copyFileSync(root.log, join(root.archive, 'events_20260301T000000.jsonl'));
    truncateSync(root.log, 0);
    await settleOne(ledger, 'b');

    expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-b'], failed: [] });

    expect(await healsOf(ledger)).toEqual(['t-a', 't-b']);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  });

  test('B19: a line that came between the copy and the cut is gone, and verify tells of it', async () => {
    const root = jsonlRoot();
    const ledger = await root.open();
    await settleOne(ledger, 'a');
    copyFileSync(root.log, join(root.archive, 'events_20260301T000000.jsonl'));
    await ledger.append([start('r-lost', 't-lost')]);
    truncateSync(root.log, 0);

    expect(await ledger.verify()).toMatchObject({ ok: false, problems: [{ code: 'truncated' }] });
    await ledger.append([start('r-next', 't-next')]);
    // What comes later does not cover it up.
    expect(await ledger.verify()).toMatchObject({ ok: false, problems: [{ code: 'head_not_in_chain' }] });
  });

  test('B19: with the same name and inode, cut and grown again past the cursor, it is read from its beginning', async () => {
    const root = jsonlRoot();
    const ledger = await root.open();
    const reconciler = createReconciler(ledger);
    await settleOne(ledger, 'a');
    await reconciler.sweep();
    await putRow(ledger, failedRow('t-b', ['r-b'], attempted));
    // The inode stays, and the new content is longer than where the cursor stands.
    root.write(
      line(start('r-b', 't-b')),
      line(settle('r-b', 't-b')),
      line({ type: 'chat', text: 'x'.repeat(5000) }),
    );

    expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-b'] });
  });

  test('12.4 #3858: rewritten to the very same size, it is noticed', async () => {
    const root = jsonlRoot();
    const ledger = await root.open();
    root.write(line(start('r-a', 't-a')), line(settle('r-a', 't-a')));
    const reconciler = createReconciler(ledger);
    for (const name of ['a', 'b']) await putRow(ledger, failedRow(`t-${name}`, [`r-${name}`], attempted));
    expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-a'], deferred: [] });
    const text = readFileSync(root.log, 'utf8');
    writeFileSync(root.log, text.replaceAll('r-a', 'r-b').replaceAll('t-a', 't-b'));

    expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-b'] });
    expect(await ledger.verify()).toMatchObject({ ok: false });
  });
});

describe('B15: the cursor does not follow a log that looks empty for a moment', () => {
  test('B15: a log that is away and comes back is gone through without applying anything twice', async () => {
    const root = jsonlRoot();
    const ledger = await root.open();
    const reconciler = createReconciler(ledger);
    await settleOne(ledger, 'a');
    await reconciler.sweep();

    renameSync(root.log, `${root.log}.away`);
    expect(await reconciler.sweep()).toMatchObject({ refreshed: [], failed: [] });
    expect(await ledger.verify()).toMatchObject({ ok: false });
    renameSync(`${root.log}.away`, root.log);
    await settleOne(ledger, 'b');

    expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-b'] });
    expect(await healsOf(ledger)).toEqual(['t-a', 't-b']);
  });

  test('B15: a part that can not be read stops the cursor where it stands', async () => {
    const root = jsonlRoot();
    const ledger = await root.open();
    const reconciler = createReconciler(ledger);
    await settleOne(ledger, 'a');
    await reconciler.sweep();
    const position = (await ledger.state.load('refresh_cursor'))?.['position'];
    const blocked = join(root.archive, 'events_20260101T000000.jsonl');
    mkdirSync(blocked);

    expect(await reconciler.sweep()).toMatchObject({ refreshed: [], events_scanned: 0 });
    expect((await ledger.state.load('refresh_cursor'))?.['position']).toEqual(position);

    rmSync(blocked, { recursive: true });
    await settleOne(ledger, 'b');
    expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-b'] });
  });
});

describe.each(STORES)('a pass that is not finished, on $name', ({ open }) => {
  test('B16 and B110: what a pass could not heal is healed by the next one, though the cursor has moved on', async () => {
    const { ledger } = await open();
    for (const name of ['0', '1', '2', '3']) await settleOne(ledger, name);
    const failing = new Set(['t-1']);
    const rows = {
      ...ledger.rows,
      loadMany: () => Promise.reject(new Error('the disk is away')),
      load: (id: string) =>
        failing.has(id) ? Promise.reject(new Error('the disk is away')) : ledger.rows.load(id),
    };

    const first = await createReconciler(ledger, { rows }).sweep();
    failing.clear();

    expect(first).toMatchObject({
      refreshed: ['t-0', 't-2', 't-3'],
      failed: [{ task_id: 't-1' }],
      deferred: ['t-1'],
    });
    expect(await createReconciler(ledger, { rows }).sweep()).toMatchObject({
      refreshed: ['t-1'],
      failed: [],
      deferred: [],
    });
    expect(await healsOf(ledger)).toEqual(['t-0', 't-1', 't-2', 't-3']);
  });

  test('B11 and B110: a pass whose cursor was not saved is done again, and changes nothing', async () => {
    const opened = await open();
    const { ledger } = opened;
    await settleOne(ledger, 'a');
    const before = await ledger.state.load('refresh_cursor');
    // As a kill leaves it: the row is healed, the place in the log is not noted.
    const killed = {
      ...ledger,
      state: { ...ledger.state, save: () => Promise.reject(new Error('killed')) },
    };
    await expect(createReconciler(killed).sweep()).rejects.toThrow('killed');
    expect(await ledger.state.load('refresh_cursor')).toEqual(before);
    const after = await fingerprint(opened);

    const passes = await Promise.all([createReconciler(ledger).sweep(), createReconciler(ledger).sweep()]);

    expect(passes).toMatchObject([{ refreshed: [] }, { refreshed: [] }]);
    expect(await fingerprint(opened)).toEqual(after);
    expect(await healsOf(ledger)).toEqual(['t-a']);
  });

  test('B18: one event that nobody understands stops no pass, and is not asked about again', async () => {
    const { ledger } = await open();
    await settleOne(ledger, 'a');
    await ledger.append([{ type: 'x.zz', run_id: 'r-zz', task_id: 't-zz', fence: 'one', outcome: 7 }]);
    await ledger.append([settle('r-unknown', 't-nowhere')]);
    await settleOne(ledger, 'c');
    const reconciler = createReconciler(ledger);

    const passes = [await reconciler.sweep(), await reconciler.sweep(), await reconciler.sweep()];

    expect(passes).toMatchObject([
      { refreshed: ['t-a', 't-c'], deferred: ['t-nowhere'], failed: [] },
      { refreshed: [], events_scanned: 2 },
      { refreshed: [], events_scanned: 0 },
    ]);
    expect(await healsOf(ledger)).toEqual(['t-a', 't-c']);
  });
});

test('B18: a foreign row of ours with values of the wrong type is kept, and settles what it can name', async () => {
  const root = jsonlRoot('ouroboros');
  root.write(
    line({ ts: '2026-03-01T00:00:00Z', type: 'delegate_run_started', run_id: 'r-a', task_id: 't-a' }),
    line({
      ts: 7,
      type: 'delegate_run_settled',
      run_id: { zz: 1 },
      task_id: ['t-zz'],
      state: 7,
      cost_usd: 'much',
    }),
    line({
      ts: '2026-03-01T00:00:01Z',
      type: 'delegate_run_settled',
      run_id: 'r-a',
      task_id: 't-a',
      state: 'succeeded',
    }),
  );
  const ledger = await root.open();
  await putRow(ledger, failedRow('t-a', ['r-a']));
  const reconciler = createReconciler(ledger);

  expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-a'], failed: [], deferred: [] });

  expect(await reconciler.sweep()).toMatchObject({ refreshed: [], failed: [], deferred: [] });
  expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, events: 4, problems: [] });
});

describe.each(DISK_STORES)('B41: a backup that was put back, on $name', ({ open }) => {
  test('B41: the loss is named, other events under the old places are read, and rows end as the log says', async () => {
    const { ledger, directory, reopen } = await open();
    await settleOne(ledger, 'kept');
    await createReconciler(ledger).sweep();
    const again = await reopen();
    await again.close();
    cpSync(String(directory), `${directory}.backup`, { recursive: true });
    const lost = await reopen();
    await settleOne(lost, 'lost');
    await createReconciler(lost).sweep();
    const head = await lost.head();
    await lost.close();

    rmSync(String(directory), { recursive: true });
    renameSync(`${directory}.backup`, String(directory));
    const restored = await reopen();
    await settleOne(restored, 'other');
    await settleOne(restored, 'more');

    expect(await createReconciler(restored).sweep()).toMatchObject({
      refreshed: ['t-more', 't-other'],
      failed: [],
    });
    expect(await healsOf(restored)).toEqual(['t-kept', 't-more', 't-other']);
    expect((await restored.verify({ expectHead: head })).problems.map(({ code }) => code)).toContain(
      'head_not_in_chain',
    );
  });
});

test('B41: a log that was put back under newer rows: what its rows say and the log does not is told again', async () => {
  const root = jsonlRoot();
  const ledger = await root.open();
  await ledger.append([start('r-a', 't-a')]);
  const backup = readFileSync(root.log);
  await putRow(ledger, failedRow('t-a', ['r-a'], attempted));
  await ledger.append([settle('r-a', 't-a')]);
  await createReconciler(ledger).sweep();
  expect(await listOf(ledger, 't-a')).toEqual([]);

  writeFileSync(root.log, backup);

  expect(await ledger.verify()).toMatchObject({
    ok: false,
    problems: [{ code: 'truncated' }, { code: 'truncated' }],
  });
  expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: ['t-a'] });
  expect(await listOf(ledger, 't-a')).toEqual(['r-a']);
  // Not silently: the change of the row is an event, which says what stood there.
  expect(await eventsOf(ledger, 'custody.unreconciled')).toMatchObject([
    { task_id: 't-a', run_ids: ['r-a'] },
  ]);
});

test('B25: a cursor beyond 2^53 does not exist: positions of SQLite are checked against their event', async () => {
  const [store] = DISK_STORES;
  const opened = await store?.open();
  if (opened === undefined) throw new Error('there is no durable store');
  const { ledger, directory } = opened;
  await settleOne(ledger, 'a');
  await ledger.state.save('refresh_cursor', {
    position: { seq: 9_007_199_254_740_992, hash: null, incarnation: (await ledger.head()).incarnation },
  });

  expect(await createReconciler(ledger).sweep()).toMatchObject({ refreshed: ['t-a'] });
  const database = openRawSqlite(join(String(directory), 'custody.db'));
  expect(database.prepare('select max(seq) as seq from event').get()).toEqual({ seq: 3 });
  database.close();
});

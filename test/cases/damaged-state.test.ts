import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { event, settled, started } from '../support/events.ts';
import { jsonlRoot } from '../support/jsonl-root.ts';
import { eventsOf } from '../support/log.ts';
import { manualClock } from '../support/manual-clock.ts';
import { rowOf as rowFrom } from '../support/row.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

async function settleOne(ledger: Ledger, name: string): Promise<void> {
  await ledger.append([started(`r-${name}`, `t-${name}`)]);
  await putRow(ledger, failedRow(`t-${name}`, [`r-${name}`]));
  await ledger.append([settled(`r-${name}`)]);
}

const GARBAGE: readonly (readonly [string, string])[] = [
  ['cut', '{"offset":12,"defer'],
  ['empty', ''],
  ['of NUL bytes', '\u0000'.repeat(64)],
  ['a list', '[1,2]'],
  ['of the wrong types', '{"offset":"12","deferred":["t-1"],"custody":7}'],
  ['beyond the log', '{"offset":99999999,"deferred":{}}'],
  ['below zero', '{"offset":-5,"deferred":{}}'],
];

describe('B16 and 12.3: the reconciler’s own files after a crash', () => {
  test.each(GARBAGE)(
    'B16: a cursor that is %s starts again at the beginning, and the next pass saves a whole one',
    async (_what, text) => {
      const root = jsonlRoot();
      const ledger = await root.open();
      const reconciler = createReconciler(ledger);
      await settleOne(ledger, 'a');
      await reconciler.sweep();
      const cursor = join(root.path, 'state', 'delegate_terminal_refresh_cursor.json');
      expect(existsSync(cursor)).toBe(true);
      writeFileSync(cursor, text);
      await settleOne(ledger, 'b');

      expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-b'], failed: [] });

      expect(JSON.parse(readFileSync(cursor, 'utf8'))).toMatchObject({
        offset: expect.any(Number) as unknown,
      });
      expect(await reconciler.sweep()).toMatchObject({ refreshed: [], failed: [] });
      expect(await eventsOf(ledger, 'custody.reconciled')).toHaveLength(2);
    },
  );

  test.each(GARBAGE)('B16: notes of failures and of passes that are %s stop no pass', async (_what, text) => {
    const root = jsonlRoot();
    const ledger = await root.open();
    await settleOne(ledger, 'a');
    await createReconciler(ledger).sweep();
    for (const name of ['failures', 'last_pass'])
      writeFileSync(join(root.path, 'state', `custody.${name}.json`), text);
    await settleOne(ledger, 'b');

    expect(await createReconciler(ledger).sweep()).toMatchObject({ refreshed: ['t-b'], failed: [] });
    expect(await createReconciler(ledger).backfill()).toMatchObject({ failed: [] });
    expect(await createReconciler(ledger).stats()).toMatchObject({ parked_items: 0, open_runs: 0 });
  });
});

test('B20: a compact file of faults that was cut does not swallow the next fault', async () => {
  const root = jsonlRoot();
  const ledger = await root.open();
  await ledger.append([
    started('r-1', 't-1'),
    started('r-2', 't-1'),
    event('containment.fault', { run_id: 'r-1', reason: 'cancel_unverified' }),
  ]);
  const faults = join(root.path, 'logs', 'containment_faults.jsonl');
  writeFileSync(faults, readFileSync(faults, 'utf8').slice(0, -20));

  await ledger.append([event('containment.fault', { run_id: 'r-2', reason: 'cancel_unverified' })]);

  const again = await root.open();
  expect((await again.custody.openFaults()).map((fault) => fault.run_id).sort()).toEqual(['r-1', 'r-2']);
  expect(
    readFileSync(faults, 'utf8')
      .split('\n')
      .filter((text) => text.endsWith('}')),
  ).toHaveLength(1);
});

test.each([
  ['cut', '{"task_id":"t-1","status":"fai'],
  ['empty', ''],
  ['of another version', '{"_schema_version":2,"task_id":"t-1","status":"running"}'],
])('B20: a row file that is %s is refused by name, never written over', async (_what, text) => {
  const root = jsonlRoot();
  const ledger = await root.open();
  const path = join(root.path, 'task_results', 't-1.json');
  mkdirSync(join(root.path, 'task_results'), { recursive: true });
  writeFileSync(path, text);
  await ledger.append([started('r-1', 't-1'), settled('r-1')]);

  await expect(ledger.rows.put([rowFrom('t-1', { status: 'failed' })])).rejects.toMatchObject({
    code: 'invalid_row',
  });
  const reports = [await createReconciler(ledger).clear('t-1'), await createReconciler(ledger).sweep()];

  expect(reports).toMatchObject([
    { refreshed: false, failed: [{ task_id: 't-1' }] },
    { failed: [{ task_id: 't-1' }] },
  ]);
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test('B19 and B107: segments keep their order when the clock is set back between two rotations', async () => {
  const root = jsonlRoot();
  const clock = manualClock('2036-01-01T00:00:00.000Z');
  const ledger = await root.open({ clock });
  const large = { note: 'x'.repeat(450_000) };
  const seqs: number[] = [];
  for (let index = 0; index < 12; index += 1) {
    const { first_seq } = await ledger.append([started(`r-${index}`, 't-1', large)]);
    seqs.push(first_seq ?? 0);
    clock.advance(-86_400_000 * 200);
  }

  expect(root.segments().length).toBeGreaterThan(3);
  const again = await root.open();
  expect((await eventsOf(again)).map(({ run_id }) => run_id)).toEqual(seqs.map((_, index) => `r-${index}`));
  expect(await again.verify({ rebuild: true })).toMatchObject({ ok: true, events: 12, problems: [] });
});

test('B44 and B107: with a clock that runs backwards rows are healed all the same', async () => {
  const clock = manualClock();
  const root = jsonlRoot();
  const ledger = await root.open({ clock });
  const reconciler = createReconciler(ledger);
  for (const name of ['a', 'b', 'c']) {
    await settleOne(ledger, name);
    clock.advance(-3_600_000);
    expect(await reconciler.sweep()).toMatchObject({ refreshed: [`t-${name}`] });
    expect(await listOf(ledger, `t-${name}`)).toEqual([]);
  }
  expect(await reconciler.stats()).toMatchObject({ cursor_lag: 1, deferred: 0 });
});

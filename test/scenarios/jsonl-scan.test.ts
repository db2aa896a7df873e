import { renameSync, rmSync } from 'node:fs';
import type { JsonObject, Ledger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import type { ForeignRoot } from '../support/foreign-root.ts';
import { foreignRoot, noiseRow, settleRow, startRow } from '../support/foreign-root.ts';
import { manualClock } from '../support/manual-clock.ts';
import { failedRow, listOf } from '../support/terminal-rows.ts';

const CURSOR = 'state/delegate_terminal_refresh_cursor.json';

async function scan(ledger: Ledger, position: JsonObject | null = null) {
  const result = await ledger.scan.settledAfter(position);
  if (result.outcome !== 'scanned') throw new Error('the log can’t be read');
  return result;
}

const offsetOf = (position: JsonObject) => position['offset'];

describe('the scan of a log for ended runs', () => {
  test('sees ends and absences, in both dialects, with a task of their own, and counts every line', async () => {
    const root = foreignRoot();
    root.rows(
      startRow('run-1', 't-1'),
      settleRow('run-1', 't-1'),
      noiseRow(),
      { type: 'run.closed_absent', run_id: 'run-2', task_id: 't-2' },
      { type: 'delegate_run_settled', run_id: 'run-3' },
      { type: 'delegate_run_settled', run_id: 'run-4', task_id: 4 },
      settleRow('run-5', 't-1'),
    );
    root.append('{"cut\n\n');
    const ledger = await root.open();

    const result = await scan(ledger);

    expect(result).toMatchObject({ task_ids: ['t-1', 't-2'], scanned: 9, moved: true });
    expect(offsetOf(result.next)).toBe(root.text('logs/events.jsonl').length);
    expect(await scan(ledger, result.next)).toEqual({
      outcome: 'scanned',
      task_ids: [],
      scanned: 0,
      next: result.next,
      moved: false,
    });
  });

  test('C1: goes on over a rotation where it stood', async () => {
    const root = foreignRoot();
    root.rows(settleRow('run-1', 't-1'));
    const ledger = await root.open();
    const first = await scan(ledger);
    root.rotate('events_20260301T010000.jsonl');
    root.rows(settleRow('run-2', 't-2'));

    const second = await scan(ledger, first.next);

    expect(second.task_ids).toEqual(['t-2']);
    expect(Number(offsetOf(second.next))).toBeGreaterThan(Number(offsetOf(first.next)));
    expect(await scan(ledger, second.next)).toMatchObject({ task_ids: [], moved: false });
  });

  test('C2: waits for a torn live tail, and passes over a torn archive tail', async () => {
    const root = foreignRoot();
    const row = JSON.stringify(settleRow('run-1', 't-1'));
    root.rows(noiseRow());
    root.append(row.slice(0, 30));
    const ledger = await root.open();
    const first = await scan(ledger);
    expect(first).toMatchObject({ task_ids: [], scanned: 1 });

    root.append(`${row.slice(30)}\n`);
    const second = await scan(ledger, first.next);
    expect(second.task_ids).toEqual(['t-1']);

    root.append(row);
    expect(await scan(ledger, second.next)).toMatchObject({ task_ids: [], moved: false });
    root.rotate('events_20260301T010000.jsonl');
    root.rows(settleRow('run-2', 't-2'));
    const third = await scan(ledger, second.next);
    expect(third).toMatchObject({ task_ids: ['t-2'], scanned: 1 });
    expect(await scan(ledger, third.next)).toMatchObject({ moved: false });
  });

  test('C2: where the live file is missing, the newest archive plays its part', async () => {
    const root = foreignRoot();
    root.rows(settleRow('run-1', 't-1'));
    root.append('{"torn');
    root.rotate('events_20260301T010000.jsonl');
    rmSync(root.at('logs', 'events.jsonl'));
    const ledger = await root.open();

    const first = await scan(ledger);

    expect(offsetOf(first.next)).toBe(JSON.stringify(settleRow('run-1', 't-1')).length + 1);
  });

  test('C3: a position beyond the end starts at the beginning, and one that nobody could stand at too', async () => {
    const root = foreignRoot();
    root.rows(settleRow('run-1', 't-1'));
    const ledger = await root.open();
    const { next } = await scan(ledger);

    for (const position of [
      { offset: 1_000_000 },
      { offset: -1 },
      { offset: 'x' },
      { offset: 0.5 },
      {},
      { seq: 3 },
    ]) {
      expect(await scan(ledger, position as JsonObject)).toMatchObject({
        task_ids: ['t-1'],
        next,
        moved: true,
      });
    }
    expect(await scan(ledger, { offset: Number(offsetOf(next)) })).toMatchObject({
      task_ids: [],
      moved: false,
    });
  });

  test('V6: a log that was cut and grew again, or whose last line was rewritten, starts at the beginning', async () => {
    const root = foreignRoot();
    root.rows(settleRow('run-1', 't-1'));
    const ledger = await root.open();
    const { next } = await scan(ledger);

    root.put('logs/events.jsonl', '');
    root.rows(settleRow('run-8', 't-8'), settleRow('run-9', 't-9'));
    expect((await scan(ledger, next)).task_ids).toEqual(['t-8', 't-9']);

    root.put('logs/events.jsonl', '');
    root.rows(settleRow('run-2', 't-1'));
    expect(root.text('logs/events.jsonl')).toHaveLength(Number(offsetOf(next)));
    const again = await scan(ledger, next);
    expect(again).toMatchObject({ task_ids: ['t-1'], moved: true });
    expect(await scan(ledger, again.next)).toMatchObject({ moved: false });
  });

  test('V6: a restored copy of the log is another segment', async () => {
    const root = foreignRoot();
    root.rows(settleRow('run-1', 't-1'));
    const ledger = await root.open();
    const { next } = await scan(ledger);

    root.put('restored', root.text('logs/events.jsonl'));
    renameSync(root.at('restored'), root.at('logs', 'events.jsonl'));

    expect((await scan(ledger, next)).task_ids).toEqual(['t-1']);
  });

  test('C4: stops before a line once it read more than 5 MiB, and goes on there', async () => {
    const root = foreignRoot();
    const noise = `${JSON.stringify(noiseRow({ text: 'x'.repeat(1_048_000) }))}\n`;
    for (let index = 0; index < 8; index += 1) root.append(noise);
    root.rows(settleRow('run-1', 't-1'));
    const ledger = await root.open();

    const first = await scan(ledger);
    expect(first).toMatchObject({ task_ids: [], scanned: 6 });
    expect(offsetOf(first.next)).toBe(6 * noise.length);
    expect(Number(offsetOf(first.next)) - noise.length).toBeLessThanOrEqual(5_242_880);

    const second = await scan(ledger, first.next);
    expect(second).toMatchObject({ task_ids: ['t-1'], scanned: 3 });
    expect(await scan(ledger, second.next)).toMatchObject({ moved: false });
  });
});

describe('the cursor of the reconciler in a data root', () => {
  async function prepared(): Promise<{ root: ForeignRoot; ledger: Ledger }> {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'), settleRow('run-1', 't-1'));
    root.put('task_results/t-1.json', JSON.stringify(failedRow('t-1', ['run-1'])));
    return { root, ledger: await root.open({ clock: manualClock() }) };
  }

  test('is written as the log’s owner writes it, and he can go on from it', async () => {
    const { root, ledger } = await prepared();
    root.rows(settleRow('run-x', 't-later'));

    expect(await createReconciler(ledger).sweep()).toMatchObject({
      refreshed: ['t-1'],
      deferred: ['t-later'],
    });

    const file = JSON.parse(root.text(CURSOR)) as JsonObject;
    expect(file).toMatchObject({ deferred: { 't-later': '2026-03-01T00:00:00.000Z' } });
    const text = root.text('logs/events.jsonl');
    expect(text.slice(0, Number(file['offset'])).endsWith('\n')).toBe(true);
  });

  test('is taken over from him: what he saw is not looked at again, whom he put off is', async () => {
    const { root, ledger } = await prepared();
    const offset = root.text('logs/events.jsonl').length;
    root.put(CURSOR, JSON.stringify({ offset, deferred: {} }));
    expect(await createReconciler(ledger).sweep()).toMatchObject({ refreshed: [], events_scanned: 0 });

    root.put(CURSOR, JSON.stringify({ offset, deferred: { 't-1': '2026-02-28T00:00:00.000Z' } }));
    expect(await createReconciler(ledger).sweep()).toMatchObject({ refreshed: ['t-1'], deferred: [] });
    expect(await listOf(ledger, 't-1')).toEqual([]);
  });

  test('that is damaged starts at the beginning', async () => {
    for (const text of ['', 'not json', '[]', '{"offset":"x"}']) {
      const { root, ledger } = await prepared();
      root.put(CURSOR, text);
      expect(await createReconciler(ledger).sweep()).toMatchObject({ refreshed: ['t-1'] });
    }
  });

  test('C6: is not written again when there is nothing new', async () => {
    const { root, ledger } = await prepared();
    const reconciler = createReconciler(ledger);
    await reconciler.sweep();
    await reconciler.sweep();
    const before = root.text(CURSOR);
    root.put(CURSOR, `${before}\n`);

    expect(await reconciler.sweep()).toMatchObject({ refreshed: [], events_scanned: 0 });
    expect(root.text(CURSOR)).toBe(`${before}\n`);
  });
});

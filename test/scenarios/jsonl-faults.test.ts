import { mkdirSync } from 'node:fs';
import type { JsonObject, Ledger } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { event } from '../support/events.ts';
import type { ForeignRoot } from '../support/foreign-root.ts';
import { foreignRoot, noiseRow, settleRow, startRow } from '../support/foreign-root.ts';
import { manualClock } from '../support/manual-clock.ts';

const FAULTS = 'logs/containment_faults.jsonl';

const fault = (runId: string, minute: number, more: JsonObject = {}): JsonObject => ({
  ts: `2026-03-01T01:${String(minute).padStart(2, '0')}:00.000000+00:00`,
  type: 'delegate_run_containment_fault',
  run_id: runId,
  task_id: 't-1',
  reason: 'cancel_unverified',
  detail: 'still there',
  ...more,
});

const resolution = (runId: string, minute: number): JsonObject => ({
  ...fault(runId, minute),
  type: 'delegate_run_containment_resolved',
  reason: 'seen_again',
});

function copies(root: ForeignRoot, ...rows: readonly JsonObject[]): void {
  root.put(FAULTS, root.text(FAULTS) + rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

const openFaults = async (ledger: Ledger) =>
  (await ledger.custody.openFaults()).map((record) => record.run_id);

describe('containment faults of a data root (ruling 7)', () => {
  test('F15: a fault stays open, with its reason, behind any amount of noise, and a resolution closes it for good', async () => {
    const root = foreignRoot();
    const ledger = await root.open({ clock: manualClock('2026-03-01T02:00:00.000Z') });
    await ledger.append([
      event('containment.fault', {
        run_id: 'run-1',
        task_id: 't-1',
        reason: 'cancel_unreachable',
        detail: 'no answer',
      }),
    ]);
    for (let index = 0; index < 5; index += 1) root.rows(noiseRow({ text: 'x'.repeat(1_000_000) }));

    expect(await ledger.custody.openFaults()).toMatchObject([
      { run_id: 'run-1', reason: 'cancel_unreachable', detail: 'no answer' },
    ]);
    await ledger.append([
      event('containment.resolved', { run_id: 'run-1', reason: 'gone', at: '2026-03-01T03:00:00.000Z' }),
    ]);
    expect(await openFaults(ledger)).toEqual([]);
    root.rows(noiseRow({ text: 'x'.repeat(1_000_000) }));
    expect(await openFaults(ledger)).toEqual([]);
  });

  test('ours are copied into the compact file, each on a line of its own, and nothing else is', async () => {
    const root = foreignRoot();
    root.put(FAULTS, '{"torn');
    root.rows(startRow('run-0', 't-1'));
    const ledger = await root.open({ clock: manualClock() });

    await ledger.append([
      event('run.started', { run_id: 'run-1', task_id: 't-1' }),
      event('containment.fault', { run_id: 'run-1', reason: 'r' }),
      event('containment.unconfined', { run_id: 'run-1' }),
      event('containment.resolved', { run_id: 'run-1' }),
    ]);

    const [torn, ...rows] = root.text(FAULTS).split('\n');
    expect(torn).toBe('{"torn');
    expect(rows.slice(0, -1).map((row) => (JSON.parse(row) as JsonObject)['type'])).toEqual([
      'delegate_run_containment_fault',
      'delegate_run_containment_resolved',
    ]);
    for (const row of rows.slice(0, -1)) expect(root.text('logs/events.jsonl')).toContain(`${row}\n`);
  });

  test('F15: a fault whose copy could not be written is seen in the log', async () => {
    const root = foreignRoot();
    mkdirSync(root.at(FAULTS), { recursive: true });
    const ledger = await root.open();

    expect(
      await ledger.append([event('containment.fault', { run_id: 'run-1', task_id: 't-1', reason: 'r' })]),
    ).toMatchObject({ appended: 1 });
    expect(await openFaults(ledger)).toEqual(['run-1']);
  });

  test('a fault that landed in the compact file alone is seen there, until the log or the file closes it', async () => {
    const root = foreignRoot();
    copies(
      root,
      fault('run-file', 10),
      fault('run-settled', 10),
      fault('run-log', 10),
      fault('run-absent', 10),
      noiseRow(),
    );
    root.rows(
      startRow('run-settled', 't-1'),
      settleRow('run-settled', 't-1', { ts: '2026-03-01T01:20:00Z' }),
      resolution('run-log', 20),
      startRow('run-absent', 't-1'),
      {
        ts: '2026-03-01T01:20:00Z',
        type: 'delegate_run_closed_absent',
        run_id: 'run-absent',
        task_id: 't-1',
      },
    );
    const ledger = await root.open();

    expect(await openFaults(ledger)).toEqual(['run-file']);
    copies(root, resolution('run-file', 30));
    expect(await openFaults(ledger)).toEqual([]);
  });

  test('V7: the newer one wins, wherever it stands, and a tie closes', async () => {
    const root = foreignRoot();
    root.rows(
      fault('run-1', 10),
      resolution('run-1', 20),
      fault('run-2', 10),
      resolution('run-2', 10),
      fault('run-3', 30),
      fault('run-4', 10),
    );
    copies(
      root,
      fault('run-1', 30, { reason: 'again' }),
      fault('run-2', 10),
      resolution('run-3', 20),
      resolution('run-4', 40),
    );
    const ledger = await root.open();

    expect(await ledger.custody.openFaults()).toMatchObject([
      { run_id: 'run-1', reason: 'again' },
      { run_id: 'run-3' },
    ]);
    root.rows(resolution('run-1', 40), fault('run-4', 50));
    expect(await openFaults(ledger)).toEqual(['run-3', 'run-4']);
  });
});

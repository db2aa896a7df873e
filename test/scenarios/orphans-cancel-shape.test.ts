import type { RunRecord } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import type { OrphanPass } from '@custody/reconciler';
import { cancelAndVerify, openOrphanPass } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { started } from '../support/events.ts';
import type { Executor } from '../support/executor.ts';
import { AWAY, ended, executor, LIVE } from '../support/executor.ts';
import { typesOf } from '../support/log.ts';

const KEYS: readonly string[] = ['accepted', 'control_status', 'detail', 'fault_reason', 'outcome', 'state'];

async function passOver(daemon: Executor): Promise<{ pass: OrphanPass; run: RunRecord }> {
  const ledger = await openLedger('memory:');
  await ledger.append([started('run-1', 't-1')]);
  const run = await ledger.custody.run('run-1');
  if (run === null) throw new Error('run-1 was not started');
  return { pass: openOrphanPass({ ledger, rows: ledger.rows, gateway: daemon }), run };
}

describe('the answer of cancel and verify', () => {
  test('O9: has six keys when the run is live, gone or unreadable', async () => {
    for (const afterwards of [LIVE, AWAY, null]) {
      const daemon = executor({ 'run-1': LIVE });
      daemon.onCancel = () =>
        afterwards === null ? daemon.runs.delete('run-1') : daemon.runs.set('run-1', afterwards);
      const { pass, run } = await passOver(daemon);

      const report = await cancelAndVerify(pass, run, 'owner_task_gone');

      expect(new Set(Object.keys(report))).toEqual(new Set(KEYS));
    }
  });

  test('O9: carries the terminal detail, and only then, when a terminal state was discovered', async () => {
    const daemon = executor({ 'run-1': LIVE });
    daemon.onCancel = () => daemon.runs.set('run-1', ended());
    const { pass, run } = await passOver(daemon);

    const report = await cancelAndVerify(pass, run, 'owner_task_gone');

    expect(new Set(Object.keys(report))).toEqual(new Set([...KEYS, 'terminal_detail']));
    expect(report).toMatchObject({
      outcome: 'confirmed',
      accepted: true,
      control_status: 'cancelling',
      state: 'succeeded',
      fault_reason: '',
      terminal_detail: { state: 'succeeded', cost_usd: 1.25 },
    });
  });

  test('8.5: a run that is settled already is confirmed without a call', async () => {
    const daemon = executor({ 'run-1': LIVE });
    const { pass, run } = await passOver(daemon);

    const report = await cancelAndVerify(pass, { ...run, settled: true }, 'owner_task_gone');

    expect(report).toMatchObject({ outcome: 'confirmed', accepted: false, state: 'settled' });
    expect(daemon.cancels).toEqual([]);
    expect(await typesOf(pass.ledger)).toEqual(['run.started', 'run.cancel_outcome']);
  });
});

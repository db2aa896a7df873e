import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import { settled, started } from '../support/events.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

async function lockedRow(taskId: string) {
  const directory = mkdtempSync(join(tmpdir(), 'custody-locks-'));
  const ledger = await openLedger(`jsonl:${directory}`);
  onTestFinished(async () => {
    await ledger.close();
    rmSync(directory, { recursive: true, force: true });
  });
  await ledger.append([started(`run-${taskId}`, taskId), settled(`run-${taskId}`)]);
  await putRow(ledger, failedRow(taskId, [`run-${taskId}`]));
  const lock = join(directory, 'task_results', `${taskId}.json.lock`);
  // The lock of a program that lives: nobody may take it over.
  writeFileSync(lock, `pid=${process.pid} ts=${Math.floor(Date.now() / 1000)}`);
  const log = () => readFileSync(join(directory, 'logs', 'events.jsonl'), 'utf8');
  return { ledger, log, unlock: () => rmSync(lock) };
}

describe('a row whose lock another program holds', () => {
  test('S10: a refresh gives up after four seconds, tells nobody of a heal, and heals later', async () => {
    const { ledger, log, unlock } = await lockedRow('t-lock2');
    const before = log();
    const reconciler = createReconciler(ledger);

    expect(await reconciler.clear('t-lock2')).toMatchObject({
      refreshed: false,
      failed: [{ task_id: 't-lock2' }],
    });
    expect(log()).toBe(before);
    expect(await listOf(ledger, 't-lock2')).toEqual(['run-t-lock2']);

    unlock();
    expect(await reconciler.clear('t-lock2')).toMatchObject({ refreshed: true });
    expect(await listOf(ledger, 't-lock2')).toEqual([]);
  });

  test('S12: a backfill goes on, counts the failure, and the next boot heals', async () => {
    const { ledger, unlock } = await lockedRow('t-locked');
    await ledger.append([started('run-free', 't-free'), settled('run-free')]);
    await putRow(ledger, failedRow('t-free', ['run-free']));
    const reconciler = createReconciler(ledger);

    expect(await reconciler.backfill()).toMatchObject({
      refreshed: ['t-free'],
      failed: [{ task_id: 't-locked' }],
    });
    expect(await listOf(ledger, 't-locked')).toEqual(['run-t-locked']);

    unlock();
    expect(await reconciler.backfill()).toMatchObject({ refreshed: ['t-locked'], failed: [] });
  });

  test('a row that fails pass after pass is parked for the sweeps, told in the audit, and tried again at the next boot', async () => {
    const { ledger, unlock } = await lockedRow('t-poison');
    const reconciler = createReconciler(ledger);
    for (let pass = 0; pass < 5; pass += 1)
      expect(await reconciler.sweep()).toMatchObject({ refreshed: [], failed: [{ task_id: 't-poison' }] });
    expect(await reconciler.audit()).toMatchObject({ parked: [{ task_id: 't-poison', failures: 5 }] });
    expect(await reconciler.stats()).toMatchObject({ parked_items: 1 });

    unlock();
    expect(await reconciler.sweep()).toMatchObject({ refreshed: [], failed: [], deferred: ['t-poison'] });
    expect(await reconciler.backfill()).toMatchObject({ refreshed: ['t-poison'] });
    expect(await reconciler.audit()).toMatchObject({ parked: [] });
  });
});

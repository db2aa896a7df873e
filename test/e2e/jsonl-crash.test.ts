import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { openIds } from '../support/answers.ts';
import { countFigures } from '../support/figures.ts';
import type { ForeignRoot } from '../support/foreign-root.ts';
import { foreignRoot, settleRow, startRow } from '../support/foreign-root.ts';
import { eventsOf } from '../support/log.ts';
import { failedRow, listOf } from '../support/terminal-rows.ts';

const WORKER = fileURLToPath(new URL('../support/crash-worker.mjs', import.meta.url));

function crash(url: string, work: 'append' | 'heal', step: 'synced' | 'renamed'): void {
  const { signal, stderr } = spawnSync(process.execPath, [WORKER, url, work, step], { encoding: 'utf8' });
  expect({ signal, stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
  countFigures('kills', [[`steps of ${work} on jsonl`, 1]]);
}

const dialects = ['custody', 'ouroboros'] as const;

describe.each(dialects)('a process that dies in the %s dialect', (dialect) => {
  const urlOf = (root: ForeignRoot) => `${root.url}?dialect=${dialect}`;

  test('P1: between the write of the log and the commit of the index, loses nothing, and its append can be repeated', async () => {
    const root = foreignRoot();
    crash(urlOf(root), 'append', 'synced');
    // What it left behind: its lock, and an index that knows of nothing.
    expect(readdirSync(root.at('logs'))).toHaveLength(2);

    const ledger = await root.open({ dialect });

    expect(await openIds(ledger)).toEqual(['run-1', 'run-2']);
    const again = await ledger.append([
      { id: 'e-1', type: 'run.started', run_id: 'run-1', task_id: 't-1' },
      { id: 'e-2', type: 'run.started', run_id: 'run-2', task_id: 't-1' },
      { id: 'e-3', type: 'run.started', run_id: 'run-3', task_id: 't-1' },
    ]);
    expect(again).toMatchObject({ appended: 1, duplicates: 2, first_seq: 3 });
    expect((await eventsOf(ledger)).map((event) => event.id)).toEqual(['e-1', 'e-2', 'e-3']);
    expect(readdirSync(root.at('logs'))).toEqual(['events.jsonl']);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, events: 3 });
  });

  test('V9: between the heal of a row and its evidence, tells of it when the ledger is opened again, once', async () => {
    const root = foreignRoot();
    root.rows(
      startRow('run-1', 't-1'),
      settleRow('run-1', 't-1'),
      startRow('run-2', 't-2'),
      settleRow('run-2', 't-2'),
    );
    for (const id of ['1', '2'])
      root.put(`task_results/t-${id}.json`, JSON.stringify(failedRow(`t-${id}`, [`run-${id}`])));
    crash(urlOf(root), 'heal', 'renamed');
    expect(existsSync(root.at('task_results', 't-1.json.lock'))).toBe(true);

    const ledger = await root.open({ dialect });

    expect(await listOf(ledger, 't-1')).toEqual([]);
    expect(await listOf(ledger, 't-2')).toEqual(['run-2']);
    expect(await eventsOf(ledger, 'custody.reconciled')).toMatchObject([
      { task_id: 't-1', trigger: 'boot_backfill', recovered: true },
    ]);

    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: ['t-2'], failed: [] });
    expect(
      (await eventsOf(ledger, 'custody.reconciled')).map((event) => [event['task_id'], event['recovered']]),
    ).toEqual([
      ['t-1', true],
      ['t-2', undefined],
    ]);
    const other = await root.open({ dialect });
    expect(await eventsOf(other, 'custody.reconciled')).toHaveLength(2);
  });

  test('V9: between the evidence and the commit that drops its intent, tells of the heal once', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'), settleRow('run-1', 't-1'));
    root.put('task_results/t-1.json', JSON.stringify(failedRow('t-1', ['run-1'])));
    crash(urlOf(root), 'heal', 'synced');

    const ledger = await root.open({ dialect });
    await ledger.append([{ type: 'run.started', run_id: 'run-3', task_id: 't-3' }]);

    const evidence = await eventsOf(ledger, 'custody.reconciled');
    expect(evidence).toHaveLength(1);
    expect(evidence[0]).not.toHaveProperty('recovered');
  });
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { openLedger, parseTaskRow } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';

/** Indexes that hold only what is open or owed: walking one costs what is owed, whatever the history. */
const OF_OPEN_THINGS =
  /USING (COVERING )?INDEX (run_open|run_owing|invocation_pending|invocation_owed|containment_open|task_row_unchecked|managed_task_ready|managed_task_running|lease_open|question_owed|question_open)\b/;

/** Tables that grow with the history. */
const HISTORY =
  /SCAN (event|run|run_evidence|task_facts|invocation|containment|task_row|managed_task|lease|question|submission)\b/;

/** Everything that a ledger does all day. */
async function liveADay(ledger: Ledger): Promise<void> {
  const reconciler = createReconciler(ledger);
  await ledger.append([
    { id: 'e-1', type: 'run.started', run_id: 'run-1', task_id: 't-1' },
    { type: 'run.settled', run_id: 'run-1', state: 'succeeded' },
    { type: 'run.started', run_id: 'run-2', task_id: 't-2' },
  ]);
  await ledger.append([{ id: 'e-2', type: 'run.ledger_recorded', run_id: 'run-2' }]);
  await ledger.rows.put([parseTaskRow('{"task_id":"t-1","status":"failed"}')]);
  await reconciler.backfill();
  await ledger.append([{ type: 'run.settled', run_id: 'run-2', state: 'failed' }]);
  await reconciler.sweep();
  await reconciler.clear('t-1');
  await ledger.custody.tasks(['t-1']);
  await ledger.custody.tasks(['t-1', 't-2']);
  await ledger.custody.owingTaskIds();
  await ledger.custody.openRuns();
  await ledger.custody.pendingInvocations();
  await ledger.custody.openFaults();
  await ledger.custody.totals();
  for (const query of [{ taskId: 't-1' }, { runId: 'run-1' }, { after: 1 }])
    for await (const { event } of ledger.read(query)) expect(event.seq).toBeGreaterThan(0);
  await ledger.tasks.create({ taskId: 'm-1', title: 'a task' });
  const claimed = await ledger.runs.claim({ holder: 'worker' });
  if (claimed.outcome !== 'claimed') throw new Error('nothing was claimed');
  const { task_id: taskId, run_id: runId, fence } = claimed;
  await ledger.runs.complete({ taskId, runId, fence, result: 'done' });
  expect(await ledger.runs.claim({ holder: 'worker' })).not.toMatchObject({ outcome: 'claimed' });
}

test('nothing that a ledger does all day walks its history', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'custody-plans-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const prepared = vi.spyOn(Database.prototype, 'prepare');
  onTestFinished(() => prepared.mockRestore());
  const path = join(directory, 'custody.db');
  const ledger = await openLedger(`sqlite:${path}`);
  await liveADay(ledger);
  await ledger.close();
  const texts = new Set(prepared.mock.calls.map(([text]) => text));
  prepared.mockRestore();

  const database = new Database(path, { readonly: true });
  onTestFinished(() => {
    database.close();
  });
  const plans = [...texts]
    .filter((text) => /^(select|update|insert|delete) /i.test(text))
    .flatMap((text) => {
      const places = Array.from({ length: text.split('?').length - 1 }, () => 'x');
      const steps = database.prepare(`explain query plan ${text}`).all(...places) as { detail: string }[];
      return steps.map(({ detail }) => `${detail}: ${text}`);
    });

  expect(plans.length).toBeGreaterThan(30);
  expect(plans.filter((plan) => HISTORY.test(plan) && !OF_OPEN_THINGS.test(plan))).toEqual([]);
});

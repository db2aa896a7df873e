import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { countKills } from '../support/figures.ts';
import type { ManagedProcess } from '../support/managed-process.ts';
import { startManaged } from '../support/managed-process.ts';

const ROUNDS = 20;
const TASKS = 400;
/** Chains of claim, submit and complete that one process has in flight. */
const WIDTH = 8;

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'custody-kills-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** Works until nothing is left or the process is gone; tells of each completion that was acknowledged. */
async function workOff(worker: ManagedProcess, onDone: (taskId: string) => void): Promise<void> {
  for (;;) {
    const run = await worker.runs('claim', { holder: 'worker', pid: worker.pid });
    if (run.outcome === 'none') return;
    const held = { taskId: run.task_id, runId: run.run_id, fence: run.fence };
    await worker.runs('submit', { ...held, idempotencyKey: `step-${run.task_id}`, value: run.task_id });
    const end = await worker.runs('complete', { ...held, result: run.task_id });
    if (end.outcome === 'completed') onDone(run.task_id);
  }
}

test(`P1, P10 and P11: a worker that is killed ${ROUNDS} times loses nothing that was acknowledged, and its tasks come back`, async () => {
  const url = `sqlite:${join(directory, 'custody.db')}`;
  await using ledger = await openLedger(url);
  await Promise.all(
    Array.from({ length: TASKS }, (_, index) =>
      ledger.tasks.create({ taskId: `t-${index}`, title: 'work', maxRetries: ROUNDS + 1 }),
    ),
  );
  const reconciler = createReconciler(ledger);
  const acknowledged = new Set<string>();
  let requeued = 0;

  for (let round = 0; round < ROUNDS; round += 1) {
    const worker = await startManaged(url);
    // The instant is what is tried: after this many acknowledgements, with others in flight.
    const killAfter = acknowledged.size + 1 + ((round * 7) % 13);
    const chains = Array.from({ length: WIDTH }, () =>
      workOff(worker, (taskId) => {
        acknowledged.add(taskId);
        if (acknowledged.size === killAfter) worker.signal('SIGKILL');
      }),
    );
    await Promise.allSettled(chains);
    await worker.gone;

    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
    const report = await reconciler.sweep();
    if ('requeued' in report) requeued += report.requeued.length;
    expect(await ledger.leases.running()).toEqual([]);
  }
  const last = await startManaged(url);
  await workOff(last, (taskId) => acknowledged.add(taskId));

  // A kill in the middle of the work is what this test is about; it must have happened.
  expect(requeued).toBeGreaterThan(0);
  const completions = await collect(ledger.read({ type: 'task.completed' }));
  expect(completions).toHaveLength(TASKS);
  const completed = new Set(completions.map((item) => item.event['task_id']));
  expect(completed.size).toBe(TASKS);
  const lost = [...acknowledged].filter((taskId) => !completed.has(taskId));
  countKills('workers on sqlite', ROUNDS, lost.length);
  expect(lost).toEqual([]);
  expect(await collect(ledger.read({ type: 'run.submitted' }))).toHaveLength(TASKS);
  expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
});

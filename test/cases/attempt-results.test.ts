import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Claimed } from '@custody/ledger';
import { openJournals } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Desk } from '../support/managed.ts';
import { heldBy, MANAGING_STORES, openDeskWithTask } from '../support/managed.ts';

type End = (desk: Desk, run: Claimed) => Promise<{ readonly outcome: string }>;

const ENDS: readonly (readonly [string, End])[] = [
  ['its holder completes it', ({ ledger }, run) => ledger.runs.complete({ ...heldBy(run), result: 'x' })],
  ['its holder fails it', ({ ledger }, run) => ledger.runs.fail({ ...heldBy(run), reason: 'x' })],
  [
    'an operator completes it while it is held',
    ({ ledger }) => ledger.tasks.complete({ taskId: 't-1', operator: 'ann', summary: 'by hand' }),
  ],
  [
    'an operator completes it after a reclaim',
    async ({ ledger }, run) => {
      await ledger.runs.reclaim({ taskId: 't-1', runId: run.run_id });
      return ledger.tasks.complete({ taskId: 't-1', operator: 'ann' });
    },
  ],
  ['an operator cancels it', ({ ledger }) => ledger.tasks.cancel({ taskId: 't-1', reason: 'x' })],
  ['an operator archives it', ({ ledger }) => ledger.tasks.archive({ taskId: 't-1' })],
];

function journalFolder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'custody-results-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

describe.each(MANAGING_STORES)('lost results and runs without a task, on $name', (kind) => {
  test.each(ENDS)('F-33: a task that ended because %s leaves no run open', async (_how, end) => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const run = await desk.claim('t-1');

    expect((await end(desk, run)).outcome).not.toBe('refused');

    const task = await desk.task('t-1');
    expect(task).toMatchObject({ current_run_id: null });
    expect(task.runs.filter((attempt) => attempt.ended_at === null)).toEqual([]);
    expect(await ledger.custody.openRuns()).toEqual([]);
    expect(await ledger.leases.running()).toEqual([]);
    expect(await createReconciler(ledger).audit(['t-1'])).toMatchObject({ tasks: [{ open_attempts: [] }] });
  });

  test('F-35: a worker reached its result and died: nobody starts on finished work, the sweep completes it with the one run', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const journals = openJournals(journalFolder(), { clock: desk.clock });
    desk.processes.start(42);
    const run = await desk.claim('t-1', { pid: 42, ttlMs: 1000 });
    await journals.write({ taskId: 't-1', runId: run.run_id, result: 'approved' });
    desk.processes.end(42);
    desk.clock.advance(600_000);

    expect(await ledger.runs.claim({ holder: 'next', taskId: 't-1' })).toMatchObject({
      outcome: 'none',
      reason: 'in_flight',
    });
    expect(await createReconciler(ledger, { journals: [journals] }).sweep()).toMatchObject({
      requeued: [],
      journals: { applied: 1 },
    });

    expect(await desk.task('t-1')).toMatchObject({
      status: 'completed',
      completed_run_id: run.run_id,
      result: 'approved',
      consecutive_failures: 0,
    });
    expect((await ledger.runs.claim({ holder: 'next', taskId: 't-1' })).outcome).toBe('none');
    expect(await desk.events('t-1', 'run.started')).toHaveLength(1);
  });

  test('F-35: where no process was named a claim may come before the sweep; the result is then kept for people', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const directory = journalFolder();
    const journals = openJournals(directory, { clock: desk.clock });
    const run = await desk.claim('t-1', { ttlMs: 1000 });
    await journals.write({ taskId: 't-1', runId: run.run_id, result: 'approved' });
    desk.clock.advance(600_000);
    const next = await desk.claim('t-1', { holder: 'next' });

    expect(await createReconciler(ledger, { journals: [journals] }).sweep()).toMatchObject({
      journals: { applied: 0, stale: 1 },
    });

    expect(readdirSync(directory)).toEqual([expect.stringContaining('.conflict-')]);
    expect(await desk.task('t-1')).toMatchObject({ status: 'running', current_run_id: next.run_id });
  });
});

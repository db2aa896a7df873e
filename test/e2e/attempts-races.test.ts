import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Claimed, Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import type { ManagedProcess } from '../support/managed-process.ts';
import { startManaged } from '../support/managed-process.ts';
import { race } from '../support/race.ts';
import { SHARED_PLACES } from '../support/shared-places.ts';

const isWin = (answer: { readonly outcome: string }) =>
  answer.outcome !== 'refused' && answer.outcome !== 'none';

/** A race that one side always wins shows nothing. */
function assertContested(winners: readonly number[]): void {
  expect(new Set(winners)).toEqual(new Set([0, 1]));
}

describe.each(SHARED_PLACES)('processes on one $name ledger', (place) => {
  const ROUNDS = place.rounds(200);
  let directory = '';
  let url = '';
  let ledger: Ledger;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'custody-attempts-'));
    url = await place.make();
    ledger = await openLedger(url);
  });

  afterEach(async () => {
    await ledger.close();
    rmSync(directory, { recursive: true, force: true });
  });

  async function claim(
    taskId: string,
    more: Partial<Parameters<Ledger['runs']['claim']>[0]> = {},
  ): Promise<Claimed> {
    const answer = await ledger.runs.claim({ taskId, holder: 'worker', ...more });
    if (answer.outcome !== 'claimed') throw new Error(`claim of ${taskId}: ${answer.reason}`);
    return answer;
  }

  async function claimed(count: number): Promise<readonly Claimed[]> {
    const runs: Claimed[] = [];
    for (let index = 0; index < count; index += 1) {
      await ledger.tasks.create({ taskId: `t-${index}`, title: 'work' });
      runs.push(await claim(`t-${index}`));
    }
    return runs;
  }

  /** Claims and completes until nothing is left; every third run is dropped, so that its lease runs out. */
  async function workOff(
    worker: ManagedProcess,
    { holder, ttlMs, tasks }: { readonly holder: string; readonly ttlMs: number; readonly tasks: number },
  ): Promise<void> {
    for (let turn = 0; ; turn += 1) {
      const run = await worker.runs('claim', { holder, ttlMs });
      if (run.outcome === 'none') {
        // That nobody holds a task is no end: one may have been released since the claim found none.
        if ((await collect(ledger.rows.list({ status: 'completed' }))).length === tasks) return;
      } else if (turn % 3 !== 2) {
        await worker.runs('complete', {
          taskId: run.task_id,
          runId: run.run_id,
          fence: run.fence,
          result: holder,
        });
      }
    }
  }

  async function assertRebuilds(): Promise<void> {
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  }

  test(`S-13 and D-16 of a reclaim and a completion exactly one wins, ${ROUNDS} times`, async () => {
    const runs = await claimed(ROUNDS);
    const [left, right] = await Promise.all([startManaged(url), startManaged(url)]);

    // A reclaim looks before it decides. In half of the rounds its rival does too, so that it is no race with a head start.
    const starts = runs.map((run, index) => ({ run, isFair: index % 4 < 2 }));
    const rounds = await race(starts, ({ run, isFair }) => [
      () => left.runs('reclaim', { taskId: run.task_id, runId: run.run_id, reason: 'race' }),
      () => {
        if (isFair) void right.tasks('get', run.task_id);
        return right.runs('complete', {
          taskId: run.task_id,
          runId: run.run_id,
          fence: run.fence,
          result: 'done',
        });
      },
    ]);

    expect(rounds.filter((answers) => answers.filter(isWin).length !== 1)).toEqual([]);
    assertContested(rounds.map((answers) => answers.findIndex(isWin)));
    for (const [index, run] of runs.entries()) {
      const task = await ledger.tasks.get(run.task_id);
      expect(task).toMatchObject({
        current_run_id: null,
        status: isWin(rounds[index]?.[1] ?? { outcome: 'none' }) ? 'completed' : 'ready',
      });
      expect(task?.runs).toMatchObject([
        { run_id: run.run_id, outcome: task?.status === 'completed' ? 'completed' : 'reclaimed' },
      ]);
      expect(task?.runs[0]?.ended_at).not.toBeNull();
    }
    await assertRebuilds();
  });

  test(`D-14 of a replay and an unblock exactly one wins, ${ROUNDS} times`, async () => {
    const runs = await claimed(ROUNDS);
    for (const run of runs)
      await ledger.runs.block({ taskId: run.task_id, runId: run.run_id, fence: run.fence, reason: 'stuck' });
    const [left, right] = await Promise.all([startManaged(url), startManaged(url)]);

    const rounds = await race(runs, (run) => [
      () => left.runs('complete', { taskId: run.task_id, runId: run.run_id, replay: true, result: 'done' }),
      () => right.tasks('unblock', { taskId: run.task_id }),
    ]);

    expect(rounds.filter((answers) => answers.filter(isWin).length !== 1)).toEqual([]);
    assertContested(rounds.map((answers) => answers.findIndex(isWin)));
    for (const [index, run] of runs.entries()) {
      const isReplayed = isWin(rounds[index]?.[0] ?? { outcome: 'none' });
      const completions = await collect(ledger.read({ taskId: run.task_id, type: 'task.completed' }));
      expect(completions).toHaveLength(isReplayed ? 1 : 0);
      expect((await ledger.tasks.get(run.task_id))?.status).toBe(isReplayed ? 'completed' : 'ready');
    }
    await assertRebuilds();
  });

  test('X6 a step that two processes submit has one effect, 1,000 times, and both get its value', async () => {
    await ledger.tasks.create({ taskId: 't-1', title: 'steps' });
    const run = await claim('t-1');
    const [left, right] = await Promise.all([startManaged(url), startManaged(url)]);
    const submit = (step: number, who: string) => ({
      taskId: 't-1',
      runId: run.run_id,
      fence: run.fence,
      idempotencyKey: `step-${step}`,
      value: who,
    });

    const answers = await Promise.all(
      Array.from({ length: 1000 }, (_, step) =>
        Promise.all([left.runs('submit', submit(step, 'same')), right.runs('submit', submit(step, 'same'))]),
      ),
    );

    expect(answers.flat().filter((answer) => answer.outcome !== 'applied')).toEqual([]);
    const winners = answers.map(
      (pair) => pair.filter((answer) => answer.outcome === 'applied' && !answer.replayed).length,
    );
    expect(winners.filter((count) => count !== 1)).toEqual([]);
    expect(await collect(ledger.read({ type: 'run.submitted' }))).toHaveLength(1000);
    await assertRebuilds();
  });

  test(`D-23 two recoveries of one folder apply each result once, ${ROUNDS} times`, async () => {
    const journals = join(directory, 'journals');
    const runs = await claimed(ROUNDS);
    const [left, right] = await Promise.all([startManaged(url), startManaged(url)]);
    await Promise.all(
      runs.map((run) => left.write(journals, { taskId: run.task_id, runId: run.run_id, result: 'kept' })),
    );

    const reports = await Promise.all([left.recover(journals), right.recover(journals)]);

    expect(reports.map((report) => report.stale + report.conflict + report.retry)).toEqual([0, 0]);
    expect(reports.reduce((sum, report) => sum + report.applied, 0)).toBe(ROUNDS);
    expect(readdirSync(journals)).toEqual([]);
    expect(await collect(ledger.read({ type: 'task.completed' }))).toHaveLength(ROUNDS);
    await assertRebuilds();
  });

  test(`P11 of two claims of one task exactly one is granted, ${ROUNDS} times`, async () => {
    for (let index = 0; index < ROUNDS; index += 1)
      await ledger.tasks.create({ taskId: `t-${index}`, title: 'work' });
    const [left, right] = await Promise.all([startManaged(url), startManaged(url)]);

    const ids = Array.from({ length: ROUNDS }, (_, index) => `t-${index}`);
    const rounds = await race(ids, (taskId) => [
      () => left.runs('claim', { taskId, holder: 'left' }),
      () => right.runs('claim', { taskId, holder: 'right' }),
    ]);

    expect(rounds.filter((answers) => answers.filter(isWin).length !== 1)).toEqual([]);
    assertContested(rounds.map((answers) => answers.findIndex(isWin)));
    await assertRebuilds();
  });

  test('X8 a holder that slept through its lease finds its fence stale', async () => {
    await ledger.tasks.create({ taskId: 't-1', title: 'work' });
    const holder = await startManaged(url);
    const mine = await holder.runs('claim', { taskId: 't-1', holder: 'sleeper', ttlMs: 20 });
    if (mine.outcome !== 'claimed') throw new Error(mine.reason);
    holder.signal('SIGSTOP');
    const step = {
      taskId: 't-1',
      runId: mine.run_id,
      fence: mine.fence,
      idempotencyKey: 'step',
      value: 'late',
    };
    // In flight: the line waits in the pipe until the holder goes on.
    const late = holder.runs('submit', step);

    while (
      ((await createReconciler(ledger).sweep()) as { requeued: readonly string[] }).requeued.length === 0
    );
    const next = await claim('t-1', { holder: 'next' });
    const own = await ledger.runs.submit({ ...step, runId: next.run_id, fence: next.fence, value: 'mine' });
    holder.signal('SIGCONT');

    expect(own).toMatchObject({ outcome: 'applied', replayed: false });
    expect(await late).toMatchObject({
      outcome: 'refused',
      reason: 'stale_fence',
      offered: mine.fence,
      current: next.fence,
    });
    expect(await collect(ledger.read({ type: 'run.submitted' }))).toHaveLength(1);
    expect(
      await ledger.runs.complete({ taskId: 't-1', runId: next.run_id, fence: next.fence, result: 'mine' }),
    ).toMatchObject({ outcome: 'completed' });
  });

  test.each(['written', 'before_remove', 'removed'])(
    'D-20 a process that is killed with the journal %s loses nothing and applies nothing twice',
    async (instant) => {
      const journals = join(directory, 'journals');
      const [run] = await claimed(1);
      if (run === undefined) throw new Error('nothing claimed');
      const entry = { taskId: run.task_id, runId: run.run_id, result: 'kept' };
      const worker = await startManaged(url);
      if (instant === 'written') {
        await expect(worker.write(journals, entry, instant)).rejects.toThrow('gone');
      } else {
        await worker.write(journals, entry);
        await expect(worker.recover(journals, instant)).rejects.toThrow('gone');
      }
      await worker.gone;
      expect(readdirSync(journals)).toHaveLength(instant === 'removed' ? 0 : 1);
      expect((await ledger.tasks.get(run.task_id))?.status).toBe(
        instant === 'written' ? 'running' : 'completed',
      );

      const next = await startManaged(url);
      const report = await next.recover(journals);

      expect(report).toMatchObject({
        applied: instant === 'written' ? 1 : 0,
        stale: 0,
        conflict: 0,
        retry: 0,
      });
      expect(await ledger.tasks.get(run.task_id)).toMatchObject({
        status: 'completed',
        completed_run_id: run.run_id,
        result: 'kept',
      });
      expect(await collect(ledger.read({ type: 'task.completed' }))).toHaveLength(1);
      expect(readdirSync(journals)).toEqual([]);
      await assertRebuilds();
    },
  );

  test('U-17 a reclaim stops the very process that was named, and a sweep notices one that was killed', async () => {
    await ledger.tasks.create({ taskId: 't-1', title: 'work' });
    const first = await startManaged(url);
    const r1 = await claim('t-1', { pid: first.pid });

    expect(await ledger.runs.reclaim({ taskId: 't-1', runId: r1.run_id, reason: 'stuck' })).toMatchObject({
      outcome: 'reclaimed',
    });
    await first.gone;
    const [reclaimed] = await collect(ledger.read({ type: 'claim.reclaimed' }));
    expect(reclaimed?.event).toMatchObject({
      termination: { prev_pid: first.pid, terminated: true, sigkill: false },
    });

    const second = await startManaged(url);
    const r2 = await claim('t-1', { pid: second.pid });
    expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: [] });
    second.signal('SIGKILL');
    await second.gone;
    expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: ['t-1'] });
    expect((await ledger.tasks.get('t-1'))?.runs.at(-1)).toMatchObject({
      run_id: r2.run_id,
      outcome: 'crashed',
    });
  });

  test('U-43 four processes and a sweep work off a queue with short leases: nothing is lost, nothing is held twice', async () => {
    const TASKS = 50;
    // Long enough to complete under contention, so that most leases are kept; short enough to wait for.
    const LEASE_MS = 400;
    for (let index = 0; index < TASKS; index += 1)
      await ledger.tasks.create({ taskId: `t-${index}`, title: 'work', maxRetries: 1000 });
    const workers = await Promise.all(Array.from({ length: 4 }, () => startManaged(url)));
    const reconciler = createReconciler(ledger);
    const over = new AbortController();
    let releases = 0;
    const sweeping = (async () => {
      while (!over.signal.aborted) {
        const report = await reconciler.sweep();
        if ('requeued' in report) releases += report.requeued.length;
        // SQLite answers within one turn of the loop; the workers' answers need turns of their own.
        await nextTurn();
      }
    })();

    await Promise.all(
      workers.map((worker, number) =>
        workOff(worker, { holder: `w-${number}`, ttlMs: LEASE_MS, tasks: TASKS }),
      ),
    );
    over.abort();
    await sweeping;

    expect(releases).toBeGreaterThan(0);
    const completions = await collect(ledger.read({ type: 'task.completed' }));
    expect(new Set(completions.map((item) => item.event['task_id'])).size).toBe(TASKS);
    expect(completions).toHaveLength(TASKS);
    await assertRebuilds();
  });
});

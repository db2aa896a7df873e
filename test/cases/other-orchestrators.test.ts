import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DURABLE_STORES } from '../contract/stores.ts';
import { cliBench } from '../support/cli.ts';
import { done, refused, underFence } from '../support/cli-managed.ts';
import { eventsOf } from '../support/log.ts';
import { heldBy, MANAGING_STORES, openDeskWithTask } from '../support/managed.ts';

describe.each(MANAGING_STORES)('identities and effects of other orchestrators, on $name', (kind) => {
  test('F-60: ten creations at once under one request make one task, and all ten are told of it', async () => {
    const { ledger } = await openDeskWithTask(kind);

    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        ledger.once('create-7').tasks.create({ taskId: 't-7', title: 'once' }),
      ),
    );

    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ outcome: 'created', task_id: 't-7' });
    const created = await eventsOf(ledger, 'task.created');
    expect(created.filter((event) => event['task_id'] === 't-7')).toHaveLength(1);
  });

  test('F-60: of ten claims at once nine are told that they lost, and to whom', async () => {
    const { ledger } = await openDeskWithTask(kind);

    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => ledger.runs.claim({ taskId: 't-1', holder: `w-${index}` })),
    );

    const [won, ...others] = answers.filter(({ outcome }) => outcome === 'claimed');
    expect(others).toEqual([]);
    const lost = answers.filter((answer) => answer !== won);
    expect(lost).toMatchObject(lost.map(() => ({ outcome: 'none', reason: 'in_flight' })));
    expect(new Set(lost.map((answer) => ('holder' in answer ? answer['holder'] : '')))).toEqual(
      new Set([(await ledger.leases.running())[0]?.lease?.holder]),
    );
  });

  test('F-64: a holder that claims again is another run, and its first identity can do nothing to the second', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const first = await desk.claim('t-1', { holder: 'same-process' });
    await ledger.runs.reclaim({ taskId: 't-1', runId: first.run_id });
    const second = await desk.claim('t-1', { holder: 'same-process' });

    expect(second.run_id).not.toBe(first.run_id);
    expect(second.fence).toBeGreaterThan(first.fence);
    const before = await desk.everything();
    for (const answer of [
      await ledger.runs.heartbeat(heldBy(first)),
      await ledger.runs.fail({ ...heldBy(first), reason: 'late' }),
      await ledger.runs.complete({ ...heldBy(first), fence: second.fence, result: 'late' }),
    ])
      expect(answer.outcome).toBe('refused');
    expect(await desk.everything()).toBe(before);
  });

  test('F-66: a second dispatch of a held task is refused, by a claim and by an event, and the lease stands', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const run = await desk.claim('t-1');
    const before = await desk.everything();

    expect(await ledger.runs.claim({ taskId: 't-1', holder: 'other' })).toMatchObject({
      outcome: 'none',
      reason: 'in_flight',
      current_run_id: run.run_id,
    });
    await expect(
      ledger.append([{ type: 'run.started', run_id: run.run_id, task_id: 't-1', role: 'attempt' }]),
    ).rejects.toMatchObject({ code: 'invalid_event' });

    expect(await desk.everything()).toBe(before);
  });
});

const KEEPING = MANAGING_STORES.filter((store) => DURABLE_STORES.includes(store));

describe.each(KEEPING)('what other orchestrators lost over a restart, on $name', (kind) => {
  test('F-67: after a restart the next attempt goes on counting where the last one was', async () => {
    const { desk, exit } = await openDeskWithTask(kind, { maxRetries: 3 });
    const first = await desk.claim('t-1');
    await exit(first, { kind: 'signal', signal: 'SIGKILL' });

    const ledger = await desk.reopen();
    const second = await ledger.runs.claim({ taskId: 't-1', holder: 'worker' });
    if (second.outcome !== 'claimed') throw new Error(second.reason);
    await ledger.runs.exited({ ...heldBy(second), exit: { kind: 'signal', signal: 'SIGKILL' } });

    expect(second.fence).toBeGreaterThan(first.fence);
    expect(await ledger.tasks.get('t-1')).toMatchObject({
      consecutive_failures: 2,
      runs: [{ run_id: first.run_id }, { run_id: second.run_id }],
    });
  });

  test('F-38 and F-61: whoever is woken by an end reads it as it stands, on a handle of his own', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    await ledger.tasks.create({ taskId: 't-2', title: 'after it', parents: ['t-1'] });
    const run = await desk.claim('t-1');
    const waiting = await desk.another();
    const woken = waiting
      .waitUntilClaimable({ holder: 'next' })
      .then(async () => [await waiting.tasks.get('t-1'), await waiting.rows.load('t-1')] as const);

    await ledger.runs.complete({ ...heldBy(run), result: 'done' });

    const [task, row] = await woken;
    expect(task).toMatchObject({ status: 'completed', completed_run_id: run.run_id });
    expect(row?.row.value).toMatchObject({ status: 'completed' });
  });

  test('F-69: a verdict whose run is lost before it said that it has it is told to the next run, once', async () => {
    const { desk, ledger } = await openDeskWithTask(kind);
    const asker = await desk.claim('t-1');
    const asked = await ledger.runs.park({ ...heldBy(asker), question: 'keep?', options: ['yes', 'no'] });
    if (asked.outcome !== 'parked') throw new Error(asked.reason);
    await ledger.questions.answer({ questionId: asked.question_id, option: 'yes', author: 'ann' });

    const reopened = await desk.reopen();
    const next = await reopened.runs.claim({ taskId: 't-1', holder: 'worker' });
    if (next.outcome !== 'claimed') throw new Error(next.reason);
    expect(next.resume_notice).toContain('yes');

    await reopened.runs.complete({ ...heldBy(next), result: 'kept' });
    const delivered = await eventsOf(reopened, 'verdict.delivered');
    expect(delivered).toHaveLength(1);
  });
});

describe('stores that others leaked or opened half', () => {
  const count = () => readdirSync('/proc/self/fd').length;

  test.each(['sqlite:custody.db', 'jsonl:root'])(
    'F-59: two hundred openings of %s leave no file open and no copy behind',
    async (place) => {
      const directory = mkdtempSync(join(tmpdir(), 'custody-case-'));
      onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
      const url = place.replace(':', `:${directory}/`);
      const use = async (ledger: Ledger) => {
        await createReconciler(ledger).sweep();
        await ledger.close();
      };
      await use(await openLedger(url));
      const files = readdirSync(directory, { recursive: true }).length;
      const before = count();

      for (let time = 0; time < 200; time += 1) await use(await openLedger(url));

      expect(count()).toBe(before);
      expect(readdirSync(directory, { recursive: true })).toHaveLength(files);
    },
  );

  test('F-63: a worker whose late end was refused is told so by the exit code and by the answer', async () => {
    const bench = cliBench();
    await done(bench, 'task create', '--id', 't-1', '--title', 'work');
    const first = await done(bench, 'run claim', '--holder', 'w-1');
    await done(bench, 'run reclaim', '--task', 't-1', '--run', first.run_id, '--reason', 'slow');
    await done(bench, 'run claim', '--holder', 'w-2');

    const answer = await refused(
      bench,
      'run',
      'complete',
      '--task',
      't-1',
      ...underFence(first),
      '--result',
      'x',
    );

    expect(answer).toMatchObject({ outcome: 'refused', reason: 'stale_fence' });
  });

  test('F-40: a claim whose commit fails prints no run, and there is none', async () => {
    const bench = cliBench();
    await done(bench, 'task create', '--id', 't-1', '--title', 'work');

    // Room for the index of the write-ahead log, and for some of its pages: the commit does not fit.
    const { code, stdout } = await bench.run(['--json', 'run', 'claim', '--holder', 'w-1'], {
      fileLimitKiB: 48,
    });

    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'store_unreadable', sqlite_code: 'SQLITE_IOERR_WRITE' },
    });
    expect(stdout).not.toContain('run_id');
    expect(await bench.lines(['run', 'list', '--task', 't-1'])).toEqual([]);
    expect((await done(bench, 'run claim', '--holder', 'w-1')).task_id).toBe('t-1');
  });
});

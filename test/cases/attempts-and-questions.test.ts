import { openLedger, parseTaskRow } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { settled, started } from '../support/events.ts';
import { eventsOf } from '../support/log.ts';
import { MANAGING_STORES, openDesk } from '../support/managed.ts';
import { putRow, rowOf } from '../support/terminal-rows.ts';

const heldBy = (taskId: string, run: { readonly run_id: string; readonly fence: number }) => ({
  taskId,
  runId: run.run_id,
  fence: run.fence,
});

describe.each(MANAGING_STORES)('attempts and questions of other systems, on $name', (kind) => {
  test('B07: an old attempt can not complete, beat, block or park the new one', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    await ledger.tasks.create({ taskId: 't-fig', title: 'work' });
    const first = await desk.claim('t-fig', { ttlMs: 1000 });
    desk.clock.advance(6000);
    await createReconciler(ledger).sweep();
    const second = await desk.claim('t-fig', { holder: 'w-b' });
    const old = heldBy('t-fig', first);
    const before = await desk.everything();

    const answers = [
      await ledger.runs.complete({ ...old, result: 'late' }),
      await ledger.runs.heartbeat(old),
      await ledger.runs.block({ ...old, reason: 'late' }),
      await ledger.runs.park({ ...old, question: 'q?', options: ['a'] }),
    ];

    expect(answers).toMatchObject(answers.map(() => ({ outcome: 'refused', reason: 'stale_fence' })));
    expect(await desk.everything()).toBe(before);
    expect(await ledger.questions.list({ open: true })).toEqual([]);
    expect(await ledger.runs.complete({ ...heldBy('t-fig', second), result: 'done' })).toMatchObject({
      outcome: 'completed',
    });
  });

  test('B08: a sweep that saw three expired leases takes only the one that is still there', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    for (const taskId of ['t-a', 't-b', 't-c'])
      await ledger.tasks.create({ taskId, title: 'work', maxRetries: 5 });
    const a = await desk.claim('t-a', { ttlMs: 1000 });
    const b = await desk.claim('t-b', { ttlMs: 1000 });
    const c = await desk.claim('t-c', { ttlMs: 1000 });
    desk.clock.advance(6000);
    const seen = await ledger.leases.running();
    expect(seen).toHaveLength(3);
    await ledger.runs.complete({ ...heldBy('t-a', a), result: 'done' });
    await ledger.runs.block({ ...heldBy('t-b', b), reason: 'no' });
    await ledger.tasks.unblock({ taskId: 't-b' });
    const next = await desk.claim('t-b');

    expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: ['t-c'] });

    expect(await desk.task('t-a')).toMatchObject({ status: 'completed', completed_run_id: a.run_id });
    expect(await desk.task('t-b')).toMatchObject({ status: 'running', current_run_id: next.run_id });
    expect(await desk.task('t-c')).toMatchObject({ runs: [{ run_id: c.run_id, outcome: 'reclaimed' }] });
  });

  test('B09: who stood still and lost his lease writes nothing afterwards, by no command at all', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    await ledger.tasks.create({ taskId: 't-nut', title: 'work' });
    const frozen = await desk.claim('t-nut', { ttlMs: 30_000 });
    desk.clock.advance(90_000);
    await createReconciler(ledger).sweep();
    await desk.claim('t-nut', { holder: 'w-b' });
    const old = heldBy('t-nut', frozen);
    const before = await desk.everything();

    const answers = [
      await ledger.runs.complete({ ...old, result: 'x' }),
      await ledger.runs.fail({ ...old, reason: 'x' }),
      await ledger.runs.block({ ...old, reason: 'x' }),
      await ledger.runs.push({ ...old, state: 'working', note: 'x' }),
      await ledger.runs.submit({ ...old, idempotencyKey: 'k', value: 'x' }),
      await ledger.runs.ask({ ...old, question: 'x', options: ['a'] }),
      await ledger.runs.heartbeat(old),
    ];

    expect(answers).toMatchObject(answers.map(() => ({ outcome: 'refused', reason: 'stale_fence' })));
    expect(await desk.everything()).toBe(before);
  });

  test('B13: the lineage of three attempts is in the log, and what silence cost is told apart from what a worker reported', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    await ledger.tasks.create({ taskId: 't-hay', title: 'work', maxRetries: 5 });
    const runs: string[] = [];
    for (let attempt = 0; attempt < 2; attempt += 1) {
      runs.push((await desk.claim('t-hay', { ttlMs: 1000 })).run_id);
      desk.clock.advance(6000);
      await createReconciler(ledger).sweep();
    }
    const last = await desk.claim('t-hay');
    await ledger.runs.complete({ ...heldBy('t-hay', last), result: 'done' });

    expect(await desk.task('t-hay')).toMatchObject({
      status: 'completed',
      consecutive_failures: 0,
      runs: [
        { run_id: runs[0], outcome: 'reclaimed' },
        { run_id: runs[1], outcome: 'reclaimed' },
        { run_id: last.run_id, outcome: 'completed' },
      ],
    });
    const started = await eventsOf(ledger, 'run.started');
    expect(started.map((event) => event['run_id'])).toEqual([...runs, last.run_id]);
  });

  test('B31: two starters of one task: one run, and the other is told who has it; nothing half done stays', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    await ledger.tasks.create({ taskId: 't-kelp', title: 'work' });

    const answers = await Promise.all(
      ['p1', 'p2'].map((holder) => ledger.runs.claim({ taskId: 't-kelp', holder })),
    );

    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['claimed', 'none']);
    expect(await ledger.runs.list('t-kelp')).toHaveLength(1);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });

  test('B36 and B39: a question outlives the end of its run and of the process; its answer wakes the task once, and is told to the next run', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    await ledger.tasks.create({ taskId: 't-lily', title: 'work' });
    const run = await desk.claim('t-lily');
    const parked = await ledger.runs.park({
      ...heldBy('t-lily', run),
      question: 'keep or drop?',
      options: ['keep', 'drop'],
    });
    if (parked.outcome !== 'parked') throw new Error('not parked');
    desk.clock.advance(60_000);
    await createReconciler(ledger).sweep();
    await createReconciler(ledger).backfill();
    expect(await ledger.questions.list({ open: true })).toMatchObject([{ text: 'keep or drop?' }]);

    const answer = { questionId: parked.question_id, option: 'keep' };
    expect(await ledger.questions.answer(answer)).toMatchObject({ outcome: 'answered' });
    await createReconciler(ledger).sweep();
    const woken = await desk.claim('t-lily');
    expect(woken.resume_notice).toContain('keep');
    // The process died before it read the notice: it rides the next one only if it was never delivered.
    expect(await eventsOf(ledger, 'verdict.delivered')).toHaveLength(1);
    await createReconciler(ledger).sweep();
    expect(await eventsOf(ledger, 'question.answered')).toHaveLength(1);
  });

  test('B37: the same answer three times and another one: one stands, the others hear it, and nothing is asked again', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    await ledger.tasks.create({ taskId: 't-iris', title: 'work' });
    const run = await desk.claim('t-iris');
    const parked = await ledger.runs.park({
      ...heldBy('t-iris', run),
      question: 'go?',
      options: ['yes', 'no'],
    });
    if (parked.outcome !== 'parked') throw new Error('not parked');
    const questionId = parked.question_id;

    const answers = [];
    for (const option of ['yes', 'yes', 'yes', 'no'])
      answers.push(await ledger.questions.answer({ questionId, option }));

    expect(answers[0]).toMatchObject({ outcome: 'answered' });
    for (const late of answers.slice(1))
      expect(late).toMatchObject({ outcome: 'refused', reason: 'already_answered', answer: 'yes' });
    for (let restart = 0; restart < 3; restart += 1) await createReconciler(ledger).sweep();
    expect(await eventsOf(ledger, 'question.raised')).toHaveLength(1);
    expect(await eventsOf(ledger, 'question.answered')).toHaveLength(1);
  });

  test('B38: an answer that comes before the park is not lost, and wakes nobody twice', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    await ledger.tasks.create({ taskId: 't-rose', title: 'work' });
    const run = await desk.claim('t-rose');
    const held = heldBy('t-rose', run);
    const asked = await ledger.runs.ask({ ...held, question: 'colour?', options: ['blue'] });
    if (asked.outcome !== 'asked') throw new Error('not asked');
    await ledger.questions.answer({ questionId: asked.question_id, option: 'blue' });
    await ledger.runs.park({ ...held, questionId: asked.question_id });
    await createReconciler(ledger).sweep();
    const task = await desk.task('t-rose');
    const next = task.status === 'running' ? null : await desk.claim('t-rose');
    const told = next?.resume_notice ?? JSON.stringify(await ledger.questions.deliveries(held));

    expect(told).toContain('blue');
    expect(await eventsOf(ledger, 'run.started')).toHaveLength(next === null ? 1 : 2);
  });

  test('B40 and B111: a leader that was replaced writes nothing any more: no row, no reclaim, no cursor, and its held write changes nothing', async () => {
    const desk = await openDesk(kind);
    if (!kind.isDurable) return;
    const old = desk.ledger;
    await old.append([started('r-9', 't-9'), settled('r-9')]);
    await putRow(old, { task_id: 't-9', status: 'failed', delegated_runs_unreconciled: ['r-9'] });
    await old.tasks.create({ taskId: 't-2', title: 'work' });
    const run = await desk.claim('t-2', { ttlMs: 1000 });
    const fresh = await desk.another();
    expect(await fresh.raiseEpoch('takeover')).toMatchObject({ epoch: 2 });
    desk.clock.advance(6000);
    const state = async () => ({
      head: await fresh.head(),
      row: await rowOf(fresh, 't-9'),
      cursor: await fresh.state.load('refresh_cursor'),
    });
    const before = await state();

    const writes = [
      () => old.append([started('r-10', 't-9')]),
      () => old.rows.put([parseTaskRow('{"task_id":"t-10","status":"failed"}')]),
      () => old.state.save('refresh_cursor', { position: null }),
      () => createReconciler(old).backfill(),
      () => old.runs.complete({ ...heldBy('t-2', run), result: 'late' }),
    ];
    for (const write of writes) {
      const answer = await write().then(
        (value: unknown) => JSON.stringify(value),
        (error: unknown) => String((error as { readonly code?: string }).code),
      );
      expect(answer).toContain('stale_epoch');
    }
    expect(await state()).toEqual(before);
    expect(await createReconciler(fresh).backfill()).toMatchObject({ refreshed: ['t-9'], failed: [] });
  });

  test('B109: four ends, two of them with no output: each is told, none is waited for', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    await ledger.append(['r-1', 'r-2', 'r-3', 'r-4'].map((run) => started(run, 't-oak')));
    await putRow(ledger, {
      task_id: 't-oak',
      status: 'failed',
      delegated_runs_unreconciled: ['r-1', 'r-2', 'r-3', 'r-4'],
    });
    await ledger.append([
      settled('r-1', { output: 'done' }),
      settled('r-2', { state: 'failed', outcome_reason: 'time limit', output: null }),
      settled('r-3', { state: 'failed', output: '' }),
      { type: 'run.closed_absent', run_id: 'r-4' },
    ]);

    await createReconciler(ledger).sweep();

    expect(await rowOf(ledger, 't-oak')).toMatchObject({ delegated_runs_unreconciled: [] });
    expect(await createReconciler(ledger).sweep()).toMatchObject({ refreshed: [] });
  });
});

test('B111: a request whose answer was lost is asked again under its id, and has one effect', async () => {
  await using ledger = await openLedger('memory:');
  const event = { ...started('r-1', 't-1'), id: 'request-1' };
  const first = await ledger.append([event]);
  const again = await ledger.append([event]);
  expect([first.appended, again.appended, again.duplicates]).toEqual([1, 0, 1]);
});

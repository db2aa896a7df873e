import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDED_STORES, MANAGING_STORES, openDesk } from '../support/managed.ts';
import { asked, DATABASE, FINAL, HOLDER, heldBy, parked, SIDES, storyOn } from '../support/question-story.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';

describe.each(COMMANDED_STORES)('edges of questions on $name', (kind) => {
  const { deskWithTask, parkedOnce, resumedWithPort, swept, injected } = storyOn(kind);

  test('Q12 verdicts that no run has heard ride the next notice together, in the order they were given', async () => {
    const { desk, ledger } = await resumedWithPort();
    const run = (await ledger.runs.list('t-1')).at(-1);
    const held = { runId: run?.run_id ?? '', fence: run?.fence ?? 0 };
    const first = await ledger.runs.ask({ ...held, ...DATABASE });
    const second = await ledger.runs.park({ ...held, ...FINAL });
    if (first.outcome !== 'asked' || second.outcome !== 'parked') throw new Error('not asked');

    // The newer one first: it does not swallow the older one, which still holds nothing up.
    await ledger.questions.answer({ questionId: second.question_id, option: 'Ship' });
    desk.clock.advance(1);
    await ledger.questions.answer({ questionId: first.question_id, option: 'Postgres' });
    const next = await desk.claim('t-1');

    expect(next.resume_notice).toBe('Human selected: Ship\nHuman selected: Postgres');
    expect(next.pending_question).toBe(false);
    expect(await desk.events('t-1', 'verdict.delivered')).toMatchObject([
      { mode: 'notice' },
      { mode: 'notice', question_id: second.question_id, run_id: next.run_id },
      { mode: 'notice', question_id: first.question_id, run_id: next.run_id },
    ]);
  });

  test('Q12 with nothing open and nothing to tell the next run starts without a notice', async () => {
    const { desk, ledger, resumed } = await resumedWithPort();
    await ledger.runs.block({ taskId: 't-1', ...heldBy(resumed), reason: 'no key', kind: 'capability' });
    await ledger.tasks.unblock({ taskId: 't-1' });

    expect(await desk.claim('t-1')).toMatchObject({
      resume_notice: null,
      pending_question: false,
      question: null,
    });
    expect((await desk.task('t-1')).runs.at(-1)).toMatchObject({ resume_notice: null, resume_since: null });
  });

  test('Q13 a verdict that its run did not live to acknowledge rides the next notice, once', async () => {
    const { desk, ledger, fresh, database } = await swept();
    await ledger.runs.push({ ...heldBy(fresh), state: 'working' });
    await ledger.questions.answer({ questionId: database, option: 'SQLite' });
    expect(await ledger.questions.deliveries(heldBy(fresh))).toMatchObject({
      deliveries: [{ question_id: database }],
    });
    await ledger.runs.reclaim({ taskId: 't-1', runId: fresh.run_id, reason: 'crashed' });

    const next = await desk.claim('t-1');

    expect(next).toMatchObject({ resume_notice: 'Human selected: SQLite', pending_question: false });
    expect(await ledger.questions.ack({ ...heldBy(fresh), questionId: database })).toMatchObject({
      reason: 'stale_fence',
    });
    expect(await ledger.questions.ack({ ...heldBy(next), questionId: database })).toMatchObject({
      reason: 'already_delivered',
      delivered: { mode: 'notice', run_id: next.run_id },
    });
    expect(await ledger.questions.deliveries(heldBy(next))).toMatchObject({ deliveries: [] });
    const told = (await desk.events('t-1', 'verdict.delivered')).filter(
      (event) => event['question_id'] === database,
    );
    expect(told).toHaveLength(1);
    expect(await desk.events('t-1', 'task.commented')).toEqual([]);
  });

  test('Q14 a verdict that overtakes the park is not waited for, and not lost', async () => {
    const { desk, ledger, resumed } = await resumedWithPort();
    const questionId = await asked(ledger, resumed, DATABASE);
    await ledger.questions.answer({ questionId, option: 'SQLite' });

    expect(await ledger.runs.park({ ...heldBy(resumed), questionId })).toMatchObject({
      outcome: 'parked',
      question_id: questionId,
      status: 'ready',
    });

    expect(await ledger.runs.claim({ holder: HOLDER })).toMatchObject({
      outcome: 'claimed',
      resume_notice: 'Human selected: SQLite',
    });
    expect((await desk.task('t-1')).runs.map((run) => run.outcome)).toEqual(['parked', 'parked', null]);
  });

  test('Q14 a park on a verdict that the run has taken already is refused with the verdict', async () => {
    const { desk, ledger, resumed } = await resumedWithPort();
    const questionId = await asked(ledger, resumed, DATABASE);
    await ledger.questions.answer({ questionId, option: 'SQLite' });
    await ledger.questions.ack({ ...heldBy(resumed), questionId });
    const before = await desk.everything();

    expect(await ledger.runs.park({ ...heldBy(resumed), questionId })).toMatchObject({
      reason: 'already_answered',
      answer: 'SQLite',
    });
    expect(await desk.everything()).toBe(before);
  });

  test('Q15 an unknown question, an option that is not offered and a second answer are refused with what is true', async () => {
    const { desk, ledger, questionId } = await parkedOnce();

    const before = await desk.everything();
    expect(await ledger.questions.answer({ questionId: 'q-none', option: 'Port' })).toMatchObject({
      outcome: 'refused',
      reason: 'no_such_question',
      question_id: 'q-none',
    });
    expect(await ledger.questions.answer({ questionId, option: 'port' })).toMatchObject({
      reason: 'invalid_option',
      offered: 'port',
      options: SIDES.options,
    });
    expect(await ledger.questions.answer({ questionId, text: 'Port' })).toMatchObject({
      reason: 'invalid_option',
      allow_text: false,
    });
    expect(await desk.everything()).toBe(before);
    await ledger.questions.answer({ questionId, option: 'Port' });
    const answered = await desk.everything();
    expect(await ledger.questions.answer({ questionId, option: 'Starboard' })).toMatchObject({
      reason: 'already_answered',
      answer: 'Port',
    });
    expect(await desk.everything()).toBe(answered);
  });

  test('Q15 a written answer is taken where no option was given, and told on one line', async () => {
    const desk = await deskWithTask();
    const run = await desk.claim('t-1');
    const questionId = await parked(desk.ledger, run, { question: 'What now?' });

    await desk.ledger.questions.answer({ questionId, text: 'first this\n\nthen that' });

    expect((await desk.claim('t-1')).resume_notice).toBe('Human selected: first this then that');
    expect(await desk.ledger.questions.list()).toMatchObject([{ answer: 'first this\n\nthen that' }]);
  });

  test('P9 a run that lost its task can neither ask, park, look nor acknowledge', async () => {
    const { desk, ledger, resumed, fresh, database } = await swept();
    await ledger.questions.answer({ questionId: database, option: 'SQLite' });
    const before = await desk.everything();

    expect(await ledger.runs.ask({ ...heldBy(resumed), ...FINAL })).toMatchObject({ reason: 'stale_fence' });
    expect(await ledger.runs.park({ ...heldBy(resumed), ...FINAL })).toMatchObject({ reason: 'stale_fence' });
    expect(await ledger.questions.deliveries(heldBy(resumed))).toMatchObject({ reason: 'stale_fence' });
    expect(await ledger.questions.ack({ ...heldBy(resumed), questionId: database })).toMatchObject({
      reason: 'stale_fence',
    });
    expect(await ledger.runs.park({ runId: fresh.run_id, fence: resumed.fence, ...FINAL })).toMatchObject({
      reason: 'stale_fence',
    });
    expect(await desk.everything()).toBe(before);
  });

  test('P11 a task that waits for two questions goes on once both are answered, whichever comes first', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      const desk = await deskWithTask();
      const { ledger } = desk;
      const run = await desk.claim('t-1');
      const ids = [await asked(ledger, run, SIDES), await asked(ledger, run, FINAL)];
      await ledger.runs.park({ ...heldBy(run), questionId: ids[0] ?? '' });
      const picks = ['Port', 'Ship'];

      await ledger.questions.answer({ questionId: ids[order[0]] ?? '', option: picks[order[0]] ?? '' });
      expect(await ledger.runs.claim({ holder: HOLDER, taskId: 't-1' })).toMatchObject({
        reason: 'question_open',
        question: { question_id: ids[order[1]] },
      });
      await ledger.questions.answer({ questionId: ids[order[1]] ?? '', option: picks[order[1]] ?? '' });

      expect((await desk.claim('t-1')).resume_notice).toBe(
        order.map((index) => `Human selected: ${picks[index]}`).join('\n'),
      );
    }
  });

  test('a question of a task that has ended waits for nobody', async () => {
    const { ledger, questionId } = await parkedOnce();
    await ledger.tasks.cancel({ taskId: 't-1' });

    expect(await ledger.questions.list({ open: true })).toEqual([]);
    expect(await ledger.questions.list()).toMatchObject([{ question_id: questionId, answer: null }]);
    expect(await ledger.questions.answer({ questionId, option: 'Port' })).toMatchObject({
      reason: 'task_ended',
      status: 'cancelled',
    });
  });

  test('a parked task that waits for a parent as well goes on once both have come', async () => {
    const { desk, ledger, questionId } = await parkedOnce();
    await ledger.tasks.create({ taskId: 't-0', title: 'first' });
    await ledger.tasks.link({ taskId: 't-1', parentId: 't-0' });

    await ledger.questions.answer({ questionId, option: 'Port' });
    expect((await desk.task('t-1')).status).toBe('todo');
    await ledger.tasks.complete({ taskId: 't-0', operator: 'ann' });

    expect((await desk.claim('t-1')).resume_notice).toBe('Human selected: Port');
  });

  test('P14 a question that could never be answered is a usage error, and nothing is written', async () => {
    const desk = await deskWithTask();
    const run = await desk.claim('t-1');
    const before = await desk.everything();
    const bad = [
      { question: ' ' },
      { question: 'Q', options: ['a', 'a'] },
      { question: 'Q', options: ['a', ''] },
      { question: 'Q', options: [], allowText: false },
    ];

    for (const question of bad)
      await expect(desk.ledger.runs.park({ ...heldBy(run), ...question })).rejects.toMatchObject({
        code: 'invalid_option',
      });
    await expect(
      desk.ledger.append([{ type: 'question.answered', task_id: 't-1', question_id: 'q', answer: 'x' }]),
    ).rejects.toMatchObject({ code: 'invalid_event' });
    expect(await desk.everything()).toBe(before);
  });

  test('P2 an import of the log, one event at a time, gives the same questions and wakes the same tasks', async () => {
    const { desk, ledger, fresh } = await injected();
    const questionId = await parked(ledger, fresh, FINAL);
    await ledger.questions.answer({ questionId, option: 'Ship' });
    const copy = await openDesk(kind);
    for await (const stored of ledger.read()) {
      const { seq: _seq, hash: _hash, epoch: _epoch, recorded_at: _at, ...given } = stored.event;
      await copy.ledger.appendAccepted({ events: [given], exact: [stored] });
    }

    expect((await copy.ledger.head()).hash).toBe((await ledger.head()).hash);
    expect(await copy.ledger.questions.list()).toEqual(await ledger.questions.list());
    expect(await copy.ledger.tasks.get('t-1')).toEqual(await desk.task('t-1'));
    expect(await copy.ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
    expect((await copy.claim('t-1')).resume_notice).toBe('Human selected: Ship');
  });
});

test('P2 verify finds a question that was changed behind the back of the log', async () => {
  const kind = MANAGING_STORES.find((store) => store.name === 'sqlite');
  if (kind === undefined) throw new Error('no sqlite store');
  const { desk, ledger, questionId } = await storyOn(kind).parkedOnce();
  const raw = openRawSqlite(join(desk.directory ?? '', 'custody.db'));
  raw.prepare('update question set is_open = 0 where question_id = ? returning task_id').all(questionId);
  raw.close();

  expect(await ledger.verify({ rebuild: true })).toMatchObject({
    ok: false,
    problems: [{ code: 'table_mismatch', message: expect.stringContaining(`question ${questionId}`) }],
  });
});

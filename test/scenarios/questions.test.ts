import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDED_STORES, MANAGING_STORES, openDesk } from '../support/managed.ts';
import {
  CRASH_GRACE_MS,
  DATABASE,
  FINAL,
  HOLDER,
  heldBy,
  PARK_SETTLE_MS,
  parked,
  SIDES,
  storyOn,
} from '../support/question-story.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';

describe.each(COMMANDED_STORES)('questions on $name', (kind) => {
  const { deskWithTask, parkedOnce, askedAndDead, swept, injected } = storyOn(kind);

  test('Q1 a claim of a queued task starts one run, with nothing to resume', async () => {
    const desk = await deskWithTask();

    const answer = await desk.ledger.runs.claim({ holder: HOLDER });

    expect(answer).toMatchObject({
      outcome: 'claimed',
      task_id: 't-1',
      pending_question: false,
      question: null,
      resume_notice: null,
    });
    expect(await desk.ledger.runs.list('t-1')).toMatchObject([
      { outcome: null, ended_at: null, resume_notice: null, resume_since: null, answers_injected: 0 },
    ]);
  });

  test('Q2 a park ends the run, blocks the task and opens the question, all at once', async () => {
    const desk = await deskWithTask();
    const run = await desk.claim('t-1');
    const before = await desk.ledger.head();

    const answer = await desk.ledger.runs.park({ ...heldBy(run), ...SIDES });

    expect(answer).toMatchObject({ outcome: 'parked', task_id: 't-1', status: 'blocked' });
    expect(await desk.row('t-1')).toMatchObject({
      status: 'blocked',
      block_kind: 'needs_input',
      current_run_id: null,
    });
    expect(await desk.ledger.runs.list('t-1')).toMatchObject([{ outcome: 'parked', state: 'ended' }]);
    const [question] = await desk.ledger.questions.list({ open: true });
    expect(question).toMatchObject({
      task_id: 't-1',
      run_id: run.run_id,
      text: SIDES.question,
      kind: 'question',
      options: SIDES.options,
      answer: null,
      answered_at: null,
      delivered: null,
    });
    const written = (await desk.events('t-1')).filter((event) => event.seq > before.seq);
    expect(written.map((event) => event.type)).toEqual(['question.raised', 'run.parked']);
    expect(new Set(written.map((event) => event.recorded_at)).size).toBe(1);
  });

  test('Q3 the holder that was just freed gets nothing, and no second run starts', async () => {
    const { desk, ledger, questionId } = await parkedOnce();
    const before = await desk.everything();

    expect(await ledger.runs.claim({ holder: HOLDER })).toEqual({
      outcome: 'none',
      reason: 'nothing_claimable',
    });
    expect(await ledger.runs.claim({ holder: HOLDER, taskId: 't-1' })).toMatchObject({
      outcome: 'none',
      reason: 'question_open',
      question: { question_id: questionId, text: SIDES.question, options: SIDES.options },
    });
    expect(await ledger.tasks.unblock({ taskId: 't-1' })).toMatchObject({ reason: 'question_open' });
    expect(await ledger.tasks.promote({ taskId: 't-1', actor: 'ann' })).toMatchObject({
      reason: 'question_open',
    });
    desk.clock.advance(3_600_000);
    expect(await ledger.runs.claim({ holder: 'another' })).toMatchObject({ outcome: 'none' });
    expect(await desk.everything()).toBe(before);
  });

  test('Q4 a parked task whose row was set back to ready is not handed out', async () => {
    const { desk, ledger } = await parkedOnce();
    await ledger.appendAccepted({ events: [{ type: 'task.promoted', task_id: 't-1' }] });
    expect(await desk.row('t-1')).toMatchObject({ status: 'ready' });

    expect(await ledger.runs.claim({ holder: HOLDER })).toMatchObject({ outcome: 'none' });
    expect(await ledger.runs.claim({ holder: HOLDER, taskId: 't-1' })).toMatchObject({
      outcome: 'none',
      reason: 'question_open',
    });
    expect(await ledger.runs.list('t-1')).toHaveLength(1);
  });

  test('Q5 an answer frees the parked task, and the next run brings it', async () => {
    const { desk, ledger, questionId } = await parkedOnce();

    expect(await ledger.questions.answer({ questionId, option: 'Port', author: 'ann' })).toEqual({
      outcome: 'answered',
      question_id: questionId,
      task_id: 't-1',
      answer: 'Port',
      delivery: 'with_next_claim',
    });
    expect(await desk.row('t-1')).toMatchObject({ status: 'ready', block_kind: null });
    const next = await ledger.runs.claim({ holder: HOLDER });

    expect(next).toMatchObject({
      outcome: 'claimed',
      resume_notice: 'Human selected: Port',
      pending_question: false,
      question: null,
    });
    expect(await desk.row('t-1')).toMatchObject({ status: 'running' });
    const [question] = await ledger.questions.list({ taskId: 't-1' });
    expect(question).toMatchObject({ answer: 'Port', delivered: { mode: 'notice' } });
    expect((await ledger.runs.list('t-1'))[1]).toMatchObject({
      resume_notice: 'Human selected: Port',
      resume_since: question?.answered_at,
      answers_injected: 0,
    });
  });

  test('Q6 a run that asked seconds ago is left alone: not even its row changes', async () => {
    const { desk, ledger, resumed } = await askedAndDead();
    const before = await desk.everything();

    expect(await ledger.runs.claim({ holder: HOLDER })).toMatchObject({ outcome: 'none' });
    expect(await ledger.runs.claim({ holder: HOLDER, taskId: 't-1' })).toMatchObject({
      outcome: 'none',
      reason: 'in_flight',
      current_run_id: resumed.run_id,
    });

    expect(await desk.everything()).toBe(before);
    expect(await desk.task('t-1')).toMatchObject({ status: 'running', current_run_id: resumed.run_id });
  });

  test('Q6 the settle window ends to the millisecond, and within the crash grace it never does', async () => {
    const { desk, ledger } = await askedAndDead();
    desk.clock.advance(PARK_SETTLE_MS - 2_000);
    expect(await ledger.runs.claim({ holder: HOLDER, taskId: 't-1' })).toMatchObject({ outcome: 'none' });
    desk.clock.advance(1);
    expect(await ledger.runs.claim({ holder: HOLDER, taskId: 't-1' })).toMatchObject({ outcome: 'claimed' });

    desk.clock.advance(CRASH_GRACE_MS);
    expect(await ledger.runs.claim({ holder: HOLDER, taskId: 't-1' })).toMatchObject({ outcome: 'none' });
  });

  test('Q7 after the settle window one claim stops the dead run and hands out a fresh one', async () => {
    const { desk, ledger, resumed, database } = await askedAndDead();
    desk.clock.advance(PARK_SETTLE_MS);

    const fresh = await ledger.runs.claim({ holder: HOLDER });

    expect(fresh).toMatchObject({
      outcome: 'claimed',
      task_id: 't-1',
      pending_question: true,
      question: { question_id: database, text: DATABASE.question, options: DATABASE.options },
      resume_notice: null,
    });
    expect(await ledger.runs.list('t-1')).toMatchObject([
      { outcome: 'parked' },
      { run_id: resumed.run_id, outcome: 'stopped' },
      { outcome: null },
    ]);
    // It resumes with the question that is open; nothing was asked a second time.
    expect(await ledger.questions.list({ open: true })).toMatchObject([{ question_id: database }]);
    expect(await ledger.runs.push({ ...heldBy(resumed), state: 'working' })).toMatchObject({
      reason: 'stale_fence',
    });
  });

  test('Q8 an answer while a run is open is taken by that run once, and by none after it', async () => {
    const { desk, ledger, fresh, database } = await swept();
    await ledger.runs.push({ ...heldBy(fresh), state: 'working' });

    expect(await ledger.questions.answer({ questionId: database, option: 'SQLite' })).toMatchObject({
      delivery: 'offered',
    });
    const offered = {
      outcome: 'offered',
      deliveries: [{ question_id: database, kind: 'answer', text: 'Human selected: SQLite' }],
    };
    expect(await ledger.questions.deliveries(heldBy(fresh))).toEqual(offered);
    // Offered until it is acknowledged, however often it is asked for.
    expect(await ledger.questions.deliveries(heldBy(fresh))).toEqual(offered);
    const ack = { ...heldBy(fresh), questionId: database };
    expect(await ledger.questions.ack(ack)).toMatchObject({ outcome: 'delivered', replayed: false });

    const settled = await ledger.head();
    expect(await ledger.questions.ack(ack)).toMatchObject({ outcome: 'delivered', replayed: true });
    expect(await ledger.questions.deliveries(heldBy(fresh))).toEqual({ outcome: 'offered', deliveries: [] });
    expect(await ledger.head()).toEqual(settled);
    expect((await ledger.runs.list('t-1')).at(-1)).toMatchObject({
      run_id: fresh.run_id,
      answers_injected: 1,
      resume_notice: null,
    });
    expect(await desk.events('t-1', 'task.commented')).toMatchObject([
      { run_id: fresh.run_id, body: `verdict delivered into the running session (block #${database})` },
    ]);
    expect(await desk.events('t-1', 'verdict.delivered')).toMatchObject([
      { mode: 'notice' },
      { mode: 'injected', question_id: database, run_id: fresh.run_id, text: 'Human selected: SQLite' },
    ]);
  });

  test('Q9 the run parks again, and a claim at once gets nothing', async () => {
    const { ledger, fresh } = await injected();
    const questionId = await parked(ledger, fresh, FINAL);

    expect(await ledger.runs.claim({ holder: HOLDER })).toMatchObject({ outcome: 'none' });
    expect(await ledger.runs.claim({ holder: HOLDER, taskId: 't-1' })).toMatchObject({
      reason: 'question_open',
      question: { question_id: questionId },
    });
  });

  test('Q10 the notice has the new verdict and not the one that was injected', async () => {
    const { ledger, fresh } = await injected();
    const questionId = await parked(ledger, fresh, FINAL);
    await ledger.questions.answer({ questionId, option: 'Ship' });

    const next = await ledger.runs.claim({ holder: HOLDER });

    expect(next).toMatchObject({ resume_notice: 'Human selected: Ship', pending_question: false });
    const run = (await ledger.runs.list('t-1')).at(-1);
    expect(run?.resume_notice).toBe('Human selected: Ship');
    expect(run?.resume_since).toBe((await ledger.questions.list({ taskId: 't-1' })).at(-1)?.answered_at);
  });

  test('Q11 the last run completes the task, and every table equals a replay of the log', async () => {
    const { desk, ledger, fresh } = await injected();
    const questionId = await parked(ledger, fresh, FINAL);
    await ledger.questions.answer({ questionId, option: 'Ship' });
    const last = await desk.claim('t-1');

    expect(await ledger.runs.complete({ taskId: 't-1', ...heldBy(last), result: 'done' })).toMatchObject({
      outcome: 'completed',
    });

    expect(await desk.row('t-1')).toMatchObject({ status: 'completed', completed_run_id: last.run_id });
    expect((await desk.task('t-1')).runs.map((run) => run.outcome)).toEqual([
      'parked',
      'stopped',
      'parked',
      'completed',
    ]);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  });
});

test('Q4 a row that still reads running while its run has just been parked is not handed out, nor swept', async () => {
  const kind = MANAGING_STORES.find((store) => store.name === 'sqlite');
  if (kind === undefined) throw new Error('no sqlite store');
  const desk = await openDesk(kind);
  await desk.ledger.tasks.create({ taskId: 't-1', title: 'work' });
  const run = await desk.claim('t-1');
  await parked(desk.ledger, run, SIDES);
  const task = await desk.task('t-1');
  const raw = openRawSqlite(join(desk.directory ?? '', 'custody.db'));
  const record = JSON.stringify({ ...task, status: 'running', current_run_id: run.run_id });
  raw.prepare(`update managed_task set status = 'running', record = ? returning task_id`).all(record);
  raw.close();
  desk.clock.advance(3_600_000);

  expect(await desk.ledger.runs.claim({ holder: HOLDER, taskId: 't-1' })).toMatchObject({
    outcome: 'none',
    reason: 'in_flight',
  });
  expect(await desk.ledger.runs.claim({ holder: HOLDER })).toMatchObject({ outcome: 'none' });
  expect(await desk.ledger.leases.requeueOrphan('t-1')).toMatchObject({ reason: 'in_flight' });
  expect(await desk.ledger.runs.list('t-1')).toHaveLength(1);
});

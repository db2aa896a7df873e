import { performance } from 'node:perf_hooks';
import type { Ledger } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import type { Desk } from '../support/managed.ts';
import { COMMANDED_STORES } from '../support/managed.ts';
import { asked, DATABASE, heldBy, storyOn } from '../support/question-story.ts';

/** How soon after a commit a wait must have ended, in milliseconds. */
const AT_ONCE_MS = 1_000;

describe.each(COMMANDED_STORES)('waits on $name', (kind) => {
  const { deskWithTask, parkedOnce, resumedWithPort } = storyOn(kind);

  /** Where somebody else works: another handle on the same place, if there can be one. */
  async function elsewhere(desk: Desk): Promise<Ledger> {
    return kind.isDurable ? desk.another() : desk.ledger;
  }

  test('P12 an answer wakes a holder that waits for work within a second', async () => {
    const { desk, ledger, questionId } = await parkedOnce();
    const other = await elsewhere(desk);
    const waiting = ledger.waitForWork({ holder: 'worker' });
    await other.runs.claim({ holder: 'nobody' });

    await other.questions.answer({ questionId, option: 'Port' });
    const answeredAt = performance.now();

    expect(await waiting).toMatchObject({
      outcome: 'claimed',
      task_id: 't-1',
      resume_notice: 'Human selected: Port',
    });
    expect(performance.now() - answeredAt).toBeLessThan(AT_ONCE_MS);
  });

  test('P11 of several holders that wait one gets the task, and the others wait on', async () => {
    const { desk, ledger, questionId } = await parkedOnce();
    const other = await elsewhere(desk);
    const leave = new AbortController();
    const waiting = ['h-1', 'h-2', 'h-3'].map((holder, index) =>
      (index === 0 ? other : ledger).waitForWork({ holder, signal: leave.signal }),
    );
    await other.questions.answer({ questionId, option: 'Port' });

    const first = await Promise.race(waiting);
    leave.abort(new Error('closing time'));
    const ends = await Promise.allSettled(waiting);

    expect(first.task_id).toBe('t-1');
    expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1);
    expect(
      ends.filter((end) => end.status === 'rejected').map((end) => (end.reason as Error).message),
    ).toEqual(['closing time', 'closing time']);
    expect(await ledger.runs.list('t-1')).toHaveLength(2);
  });

  test('P12 an answer wakes the run that waits for it within a second', async () => {
    const { desk, ledger, resumed } = await resumedWithPort();
    const other = await elsewhere(desk);
    const questionId = await asked(ledger, resumed, DATABASE);
    const waiting = ledger.waitForVerdict({ runId: resumed.run_id });

    await other.questions.answer({ questionId, option: 'SQLite' });
    const answeredAt = performance.now();

    expect(await waiting).toEqual({
      outcome: 'offered',
      deliveries: [{ question_id: questionId, kind: 'answer', text: 'Human selected: SQLite' }],
    });
    expect(performance.now() - answeredAt).toBeLessThan(AT_ONCE_MS);
  });

  test('a wait for a verdict ends with a refusal when the run loses its task', async () => {
    const { desk, ledger, resumed } = await resumedWithPort();
    const other = await elsewhere(desk);
    const waiting = ledger.waitForVerdict({ runId: resumed.run_id });

    await other.runs.complete({ taskId: 't-1', ...heldBy(resumed), result: 'done' });

    expect(await waiting).toMatchObject({ reason: 'not_current_run', run_outcome: 'completed' });
    expect(await ledger.waitForVerdict({ runId: 'run-none' })).toMatchObject({ reason: 'no_such_run' });
  });

  test('a wait that is given up ends with the reason that was given, and holds nothing', async () => {
    const desk = await deskWithTask();
    await desk.claim('t-1');
    const before = await desk.everything();
    const leave = new AbortController();
    const waiting = desk.ledger.waitForWork({ holder: 'worker', taskId: 't-1', signal: leave.signal });

    leave.abort(new Error('closing time'));

    await expect(waiting).rejects.toThrow('closing time');
    await expect(desk.ledger.waitForVerdict({ runId: 'run-none', signal: leave.signal })).rejects.toThrow(
      'closing time',
    );
    expect(await desk.everything()).toBe(before);
  });

  test('a wait sees what the clock alone makes claimable', async () => {
    const desk = await deskWithTask();
    await desk.claim('t-1', { holder: 'gone', ttlMs: 1_000 });
    const waiting = desk.ledger.waitForWork({ holder: 'worker' });

    desk.clock.advance(121_000);

    expect(await waiting).toMatchObject({ outcome: 'claimed', task_id: 't-1' });
  });
});

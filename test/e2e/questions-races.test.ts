import type { Claimed, Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startManaged } from '../support/managed-process.ts';
import { asked, heldBy, parked } from '../support/question-story.ts';
import { race } from '../support/race.ts';
import { SHARED_PLACES } from '../support/shared-places.ts';

const WHICH = { question: 'Which?', options: ['A', 'B'] };

interface Round {
  readonly taskId: string;
  readonly run: Claimed;
  readonly questionId: string;
}

/** A race that one side always wins shows nothing. */
function assertContested(words: readonly string[], expected: readonly string[]): void {
  expect(new Set(words)).toEqual(new Set(expected));
}

describe.each(SHARED_PLACES)('questions between two processes on one $name ledger', (place) => {
  const ROUNDS = place.rounds(500);
  let url = '';
  let ledger: Ledger;

  beforeEach(async () => {
    url = await place.make();
    ledger = await openLedger(url);
  });

  afterEach(async () => {
    await ledger.close();
  });

  async function claim(taskId: string): Promise<Claimed> {
    const answer = await ledger.runs.claim({ taskId, holder: 'worker' });
    if (answer.outcome !== 'claimed') throw new Error(`claim of ${taskId}: ${answer.reason}`);
    return answer;
  }

  async function rounds(ask: (run: Claimed) => Promise<string>): Promise<readonly Round[]> {
    const made: Round[] = [];
    for (let index = 0; index < ROUNDS; index += 1) {
      const taskId = `t-${index}`;
      await ledger.tasks.create({ taskId, title: 'work' });
      const run = await claim(taskId);
      made.push({ taskId, run, questionId: await ask(run) });
    }
    return made;
  }

  /** Every verdict reached exactly one run; `heard` is what runs were really told, by task. */
  async function assertDelivered(all: readonly Round[], heard: ReadonlyMap<string, readonly string[]>) {
    const questions = new Map((await ledger.questions.list()).map((item) => [item.question_id, item]));
    expect(questions.size).toBe(ROUNDS);
    for (const { taskId, questionId } of all) {
      expect(questions.get(questionId)).toMatchObject({ answer: 'A', delivered: { at: expect.any(String) } });
      expect(heard.get(taskId)).toEqual(['Human selected: A']);
    }
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  }

  test(`Q14 an answer that races the park wakes the task, and its next run hears it once, ${ROUNDS} times`, async () => {
    const all = await rounds((run) => asked(ledger, run, WHICH));
    const [parker, person] = await Promise.all([startManaged(url), startManaged(url)]);

    const ends = await race(all, ({ run, questionId }) => [
      () => parker.runs('park', { ...heldBy(run), questionId }),
      () => person.questions('answer', { questionId, option: 'A' }),
    ]);

    // Parked before the answer it waited; parked after it, it did not.
    assertContested(
      ends.map(([park]) => ('status' in park ? String(park['status']) : park.outcome)),
      ['blocked', 'ready'],
    );
    expect(ends.every(([, answer]) => answer.outcome === 'answered')).toBe(true);
    const heard = new Map<string, readonly string[]>();
    for (const { taskId } of all) {
      const next = await claim(taskId);
      expect(next.pending_question).toBe(false);
      heard.set(taskId, next.resume_notice?.split('\n') ?? []);
    }
    await assertDelivered(all, heard);
  });

  test(`Q14 an answer that races a claim is heard by that claim or by the next one, ${ROUNDS} times`, async () => {
    const all = await rounds((run) => parked(ledger, run, WHICH));
    const [holder, person] = await Promise.all([startManaged(url), startManaged(url)]);

    const ends = await race(all, ({ taskId, questionId }) => [
      () => holder.runs('claim', { taskId, holder: 'worker' }),
      () => person.questions('answer', { questionId, option: 'A' }),
    ]);

    assertContested(
      ends.map(([answer]) => answer.outcome),
      ['claimed', 'none'],
    );
    const heard = new Map<string, readonly string[]>();
    for (const [index, { taskId }] of all.entries()) {
      const early = ends[index]?.[0];
      const next = early?.outcome === 'claimed' ? early : await claim(taskId);
      heard.set(taskId, next.resume_notice?.split('\n') ?? []);
      expect((await ledger.tasks.get(taskId))?.runs).toHaveLength(2);
    }
    await assertDelivered(all, heard);
  });

  test(`Q13 and Q14 a verdict that a run takes while it loses its task is heard by one of the two runs, ${ROUNDS} times`, async () => {
    const all = await rounds(async (run) => {
      const questionId = await asked(ledger, run, WHICH);
      await ledger.questions.answer({ questionId, option: 'A' });
      return questionId;
    });
    const [taker, operator] = await Promise.all([startManaged(url), startManaged(url)]);

    const ends = await race(all, ({ taskId, run, questionId }) => [
      () => taker.questions('ack', { ...heldBy(run), questionId }),
      () => operator.runs('reclaim', { taskId, runId: run.run_id, reason: 'race' }),
    ]);

    assertContested(
      ends.map(([ack]) => ack.outcome),
      ['delivered', 'refused'],
    );
    const heard = new Map<string, readonly string[]>();
    for (const [index, { taskId }] of all.entries()) {
      const taken = ends[index]?.[0].outcome === 'delivered' ? ['Human selected: A'] : [];
      const next = await claim(taskId);
      heard.set(taskId, [...taken, ...(next.resume_notice?.split('\n') ?? [])]);
    }
    await assertDelivered(all, heard);
  });

  test('P12 an answer in one process wakes within a second those who wait in another', async () => {
    await ledger.tasks.create({ taskId: 't-1', title: 'work' });
    const first = await claim('t-1');
    const side = await parked(ledger, first, WHICH);
    const person = await startManaged(url);
    const atWork = ledger.waitForWork({ holder: 'worker' });

    await person.questions('answer', { questionId: side, option: 'A' });
    const freedAt = performance.now();
    const next = await atWork;
    expect(performance.now() - freedAt).toBeLessThan(1_000);
    expect(next.resume_notice).toBe('Human selected: A');

    const database = await asked(ledger, next, WHICH);
    const atRest = ledger.waitForVerdict({ runId: next.run_id });
    await person.questions('answer', { questionId: database, option: 'B' });
    const answeredAt = performance.now();
    expect(await atRest).toMatchObject({
      deliveries: [{ question_id: database, text: 'Human selected: B' }],
    });
    expect(performance.now() - answeredAt).toBeLessThan(1_000);
  });
});

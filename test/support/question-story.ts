import type { Claimed, Ledger } from '@custody/ledger';
import type { StoreKind } from '../contract/stores.ts';
import type { Desk } from './managed.ts';
import { openDesk } from './managed.ts';

/** Who claims in these stories. */
export const HOLDER = 'worker';

/** How long a run is left alone after its start although its holder is gone. */
export const CRASH_GRACE_MS = 120_000;

/** How long a run is left alone after its last report. */
export const PARK_SETTLE_MS = 5_000;

export const SIDES = { question: 'First: which side?', options: ['Port', 'Starboard'] };
export const DATABASE = { question: 'Which database?', options: ['SQLite', 'Postgres'] };
export const FINAL = { question: 'Final check?', options: ['Ship', 'Hold'] };

/** The run and the fence of a claim, as commands take them. */
export function heldBy(run: Claimed): { readonly runId: string; readonly fence: number } {
  return { runId: run.run_id, fence: run.fence };
}

/** Parks a run on a new question, which must succeed. */
export async function parked(
  ledger: Ledger,
  run: Claimed,
  on: { readonly question: string; readonly options?: readonly string[] },
): Promise<string> {
  const answer = await ledger.runs.park({ ...heldBy(run), ...on });
  if (answer.outcome !== 'parked') throw new Error(`park: ${answer.reason}`);
  return answer.question_id;
}

/** Asks and goes on, which must succeed. */
export async function asked(
  ledger: Ledger,
  run: Claimed,
  on: { readonly question: string; readonly options: readonly string[] },
): Promise<string> {
  const answer = await ledger.runs.ask({ ...heldBy(run), ...on });
  if (answer.outcome !== 'asked') throw new Error(`ask: ${answer.reason}`);
  return answer.question_id;
}

/** The states that the rows of docs/contracts/questions.md start from, each built on the one before it. */
export function storyOn(kind: StoreKind) {
  async function deskWithTask(): Promise<Desk> {
    const desk = await openDesk(kind);
    await desk.ledger.tasks.create({ taskId: 't-1', title: 'work' });
    return desk;
  }
  /** Q2. */
  async function parkedOnce() {
    const desk = await deskWithTask();
    const run = await desk.claim('t-1');
    const questionId = await parked(desk.ledger, run, SIDES);
    return { desk, ledger: desk.ledger, run, questionId };
  }
  /** Q5. */
  async function resumedWithPort() {
    const given = await parkedOnce();
    await given.ledger.questions.answer({ questionId: given.questionId, option: 'Port' });
    return { ...given, resumed: await given.desk.claim('t-1') };
  }
  /** Q6. */
  async function askedAndDead() {
    const given = await resumedWithPort();
    given.desk.clock.advance(CRASH_GRACE_MS + 1);
    const database = await asked(given.ledger, given.resumed, DATABASE);
    given.desk.clock.advance(2_000);
    return { ...given, database };
  }
  /** Q7. */
  async function swept() {
    const given = await askedAndDead();
    given.desk.clock.advance(PARK_SETTLE_MS);
    return { ...given, fresh: await given.desk.claim('t-1') };
  }
  /** Q8. */
  async function injected() {
    const given = await swept();
    await given.ledger.runs.push({ ...heldBy(given.fresh), state: 'working' });
    await given.ledger.questions.answer({ questionId: given.database, option: 'SQLite' });
    await given.ledger.questions.ack({ ...heldBy(given.fresh), questionId: given.database });
    return given;
  }
  return { deskWithTask, parkedOnce, resumedWithPort, askedAndDead, swept, injected };
}

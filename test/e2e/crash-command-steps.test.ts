import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RecordedEvent } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { expect, onTestFinished, test } from 'vitest';
import { foldManaged } from '../oracle/managed.ts';
import { countKills } from '../support/figures.ts';
import { eventsOf } from '../support/log.ts';
import { asked } from '../support/question-story.ts';

const WORKER = fileURLToPath(new URL('../support/step-worker.mjs', import.meta.url));
const MAX_STEPS = 200;
/** A kill takes a second: every third step and the last, the commit, in every run; each one in a long one. */
const STRIDE = process.env['CUSTODY_TEST_LONG'] === undefined ? 3 : 1;

/** A run that holds its task and has asked a question; answers what a command on it needs. */
async function prepare(url: string): Promise<string> {
  await using ledger = await openLedger(url);
  await ledger.tasks.create({ taskId: 'm-1', title: 'work' });
  const run = await ledger.runs.claim({ taskId: 'm-1', holder: 'a' });
  if (run.outcome !== 'claimed') throw new Error('not claimed');
  const questionId = await asked(ledger, run, { question: 'Which?', options: ['A', 'B'] });
  return JSON.stringify({ taskId: 'm-1', runId: run.run_id, fence: run.fence, questionId });
}

interface End {
  /** The step it died after; null = it lived. */
  readonly step: string | null;
  /** How many steps it had, if it lived. */
  readonly steps: number;
}

/** Carries out a command in a process of its own, which dies after the given step. */
function carryOut(url: string, command: string, held: string, step: number): End {
  const { stdout, stderr, signal } = spawnSync(process.execPath, [WORKER, url, command, String(step)], {
    encoding: 'utf8',
    env: { ...process.env, HELD: held },
  });
  const name = /^died after (\w+)$/m.exec(stdout)?.[1] ?? null;
  expect({ stderr, signal, done: stdout.includes('done') }).toEqual({
    stderr: '',
    signal: name === null ? null : 'SIGKILL',
    done: name === null,
  });
  return { step: name, steps: Number(/^done after (\d+) steps$/m.exec(stdout)?.[1] ?? 0) };
}

const typesOf = (events: readonly RecordedEvent[]) => events.map(({ type }) => type);

/** Reads the log, and holds the store against a replay of it. */
async function checkedLog(url: string): Promise<readonly RecordedEvent[]> {
  await using ledger = await openLedger(url);
  expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  const events = await eventsOf(ledger);
  const right = foldManaged(events.map((event) => ({ ...event }))).get('m-1');
  const task = await ledger.tasks.get('m-1');
  expect({ status: task?.status, current_run_id: task?.current_run_id }).toEqual({
    status: right?.status,
    current_run_id: right?.current_run_id,
  });
  return events;
}

test.each(['submit', 'complete', 'reclaim', 'ask', 'park', 'answer'])(
  'P1, P10: killed after each step of %s on SQLite, it was carried out as a whole or not at all, and its repetition does nothing twice',
  async (command) => {
    const directory = mkdtempSync(join(tmpdir(), 'custody-command-steps-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const urlIn = (name: string) => `sqlite:${join(directory, name, 'custody.db')}`;
    mkdirSync(join(directory, 'pristine'));
    const held = await prepare(urlIn('pristine'));
    const before = await checkedLog(urlIn('pristine'));
    cpSync(join(directory, 'pristine'), join(directory, 'whole'), { recursive: true });
    const { steps } = carryOut(urlIn('whole'), command, held, MAX_STEPS);
    const whole = typesOf(await checkedLog(urlIn('whole')));
    expect(whole.length).toBeGreaterThan(before.length);

    const died: Record<string, number> = {};
    let lost = 0;
    for (let step = 1; step <= steps; step += 1) {
      if (step !== steps && (step - 1) % STRIDE !== 0) continue;
      const place = `step-${step}`;
      cpSync(join(directory, 'pristine'), join(directory, place), { recursive: true });
      const { step: name } = carryOut(urlIn(place), command, held, step);
      if (name === null) throw new Error(`lived through step ${step} of ${steps}`);
      died[name] = (died[name] ?? 0) + 1;

      const left = await checkedLog(urlIn(place));
      const ids = left.map(({ id }) => id);
      lost += before.filter(({ id }) => !ids.includes(id)).length;
      expect(ids.slice(0, before.length)).toEqual(before.map(({ id }) => id));
      const isDone = left.length > before.length;
      expect(typesOf(left)).toEqual(isDone ? whole : typesOf(before));
      // Two questions of the same words are two questions: who asks looks first.
      if (!(isDone && command === 'ask'))
        expect(carryOut(urlIn(place), command, held, MAX_STEPS)).toMatchObject({ step: null });
      expect(typesOf(await checkedLog(urlIn(place)))).toEqual(whole);
    }
    const kills = Object.values(died).reduce((sum, count) => sum + count, 0);
    expect(died).toHaveProperty('commit');
    countKills(`steps of ${command} on sqlite`, kills, lost);
    process.stdout.write(
      `killed at each step of ${command} (sqlite): ${JSON.stringify(died)}, lost ${lost}\n`,
    );
  },
  120_000,
);

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { openJournals, openLedger, parseTaskRow } from '@custody/ledger';
import { expect, onTestFinished, test } from 'vitest';
import { settled, started } from '../support/events.ts';
import { countKills } from '../support/figures.ts';
import { asked } from '../support/question-story.ts';
import { signingKeys } from '../support/signing-keys.ts';
import type { Command } from '../support/statement-run.ts';
import { carryOut } from '../support/statement-run.ts';
import type { Held, StoreMaker } from '../support/statement-stores.ts';
import { postgresStores, sqliteStores } from '../support/statement-stores.ts';
import { failedRow } from '../support/terminal-rows.ts';

const KEYS = signingKeys();
const IS_LONG = process.env['CUSTODY_TEST_LONG'] !== undefined;
/** Kills of one operation on one store in an ordinary run, besides those around its last commit. */
const ORDINARY_KILLS = 2;
const TIMEOUT_MS = 900_000;

/** An operation that is killed. */
interface Operation {
  readonly name: string;
  readonly prepare: (ledger: Ledger, directory: string) => Promise<Held>;
  readonly command: (held: Held, directory: string) => Command;
  /** False: made again after it was carried out it is a second one, as whoever asks for it twice means it. */
  readonly isRepeatable?: false;
}

async function claimed(ledger: Ledger): Promise<Held> {
  await ledger.tasks.create({ taskId: 'm-1', title: 'work' });
  await ledger.tasks.create({ taskId: 'm-2', title: 'after it', parents: ['m-1'] });
  const run = await ledger.runs.claim({ taskId: 'm-1', holder: 'a' });
  if (run.outcome !== 'claimed') throw new Error('not claimed');
  const questionId = await asked(ledger, run, { question: 'Which?', options: ['A', 'B'] });
  return { taskId: 'm-1', runId: run.run_id, fence: run.fence, questionId };
}

async function observed(ledger: Ledger): Promise<Held> {
  await ledger.append([started('run-1', 't-1'), settled('run-1'), started('run-2', 't-2')]);
  await ledger.rows.put([
    parseTaskRow(JSON.stringify(failedRow('t-1', ['run-1']))),
    parseTaskRow(JSON.stringify(failedRow('t-2', null))),
  ]);
  return {};
}

/** Two leases that run out, and rows to heal. */
async function abandoned(ledger: Ledger): Promise<Held> {
  await observed(ledger);
  for (const taskId of ['m-1', 'm-2']) {
    await ledger.tasks.create({ taskId, title: 'work' });
    await ledger.runs.claim({ taskId, holder: 'a' });
  }
  return {};
}

const attempt = ({ taskId, runId, fence }: Held) => ({ taskId, runId, fence });
const onRun =
  (verb: string, more: object) =>
  (held: Held): Command => ({
    target: 'runs',
    verb,
    args: [{ ...attempt(held), ...more }],
  });
const onWork = (verb: string, argument: string): Command => ({ target: 'work', verb, args: [argument] });

const sourceIn = (directory: string) => join(directory, 'source.jsonl');
const journalsIn = (directory: string) => join(directory, 'journals');
const backupIn = (directory: string) => join(directory, 'backup.db');

const OPERATIONS: readonly Operation[] = [
  {
    name: 'append',
    prepare: observed,
    command: () => ({
      target: 'ledger',
      verb: 'append',
      args: [
        [
          { id: 'e-1', ...settled('run-2') },
          { id: 'e-2', ...started('run-3', 't-1') },
        ],
      ],
    }),
  },
  { name: 'complete', prepare: claimed, command: onRun('complete', { result: 'done' }) },
  { name: 'submit', prepare: claimed, command: onRun('submit', { idempotencyKey: 'k-1', value: 1 }) },
  {
    name: 'reclaim',
    prepare: claimed,
    command: ({ taskId, runId }) => ({
      target: 'runs',
      verb: 'reclaim',
      args: [{ taskId, runId, reason: 'stuck' }],
    }),
  },
  {
    name: 'park',
    prepare: claimed,
    command: ({ runId, fence, questionId }) => ({
      target: 'runs',
      verb: 'park',
      args: [{ runId, fence, questionId }],
    }),
  },
  {
    name: 'answer',
    prepare: claimed,
    command: ({ questionId }) => ({
      target: 'questions',
      verb: 'answer',
      args: [{ questionId, option: 'A' }],
    }),
  },
  {
    name: 'backfill',
    prepare: observed,
    command: () => ({ target: 'reconciler', verb: 'backfill', args: [] }),
  },
  { name: 'sweep', prepare: abandoned, command: () => ({ target: 'reconciler', verb: 'sweep', args: [] }) },
  {
    name: 'journal recovery',
    prepare: claimed,
    command: (_held, directory) => onWork('recover', journalsIn(directory)),
  },
  {
    name: 'import',
    prepare: observed,
    command: (_held, directory) => onWork('import', sourceIn(directory)),
  },
  {
    name: 'checkpoint',
    prepare: observed,
    command: () => onWork('checkpoint', KEYS.privateKey),
    isRepeatable: false,
  },
  {
    name: 'epoch of a failover',
    prepare: claimed,
    command: () => ({ target: 'ledger', verb: 'raiseEpoch', args: ['the primary is gone'] }),
    isRepeatable: false,
  },
];

/** More events than an import takes at once: it commits twice. */
function writeSource(directory: string): void {
  const lines = Array.from({ length: 2_100 }, (_, index) => JSON.stringify(started(`i-${index}`, 't-1')));
  writeFileSync(sourceIn(directory), `${lines.join('\n')}\n`);
}

async function writeJournal(directory: string, { taskId, runId }: Held): Promise<void> {
  rmSync(journalsIn(directory), { recursive: true, force: true });
  mkdirSync(journalsIn(directory));
  await openJournals(journalsIn(directory)).write({
    taskId: String(taskId),
    runId: String(runId),
    result: 'done',
  });
}

/** Which instants are tried: all in a long run; otherwise some spread over the work, and those around the last commit. */
function chosen(instants: readonly string[]): readonly number[] {
  const all = instants.map((_, index) => index + 1);
  if (IS_LONG) return all;
  const stride = Math.max(3, Math.ceil(all.length / ORDINARY_KILLS));
  const commit = instants.lastIndexOf('commit: after') + 1;
  return all.filter(
    (instant) =>
      (instant - 1) % stride === 0 || instant === commit - 1 || instant === commit || instant === all.length,
  );
}

async function verified(url: string): Promise<readonly string[]> {
  await using ledger = await openLedger(url);
  expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  const texts: string[] = [];
  for await (const { text } of ledger.read()) texts.push(text);
  return texts;
}

const newDirectory = () => {
  const directory = mkdtempSync(join(tmpdir(), 'custody-statements-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
};

const STORES = [
  ['sqlite', sqliteStores],
  ['postgres', postgresStores],
] as const;

test.each(
  OPERATIONS.flatMap((operation) =>
    STORES.map(([store, maker]) => [operation.name, store, operation, maker] as const),
  ),
)(
  'P1, P6, P10: %s on %s, killed at its statements, leaves the state of one of its commits, and its repetition the state of one that nobody disturbed',
  async (name, store, { prepare, command, isRepeatable = true }, maker) => {
    const directory = newDirectory();
    writeSource(directory);
    const make: StoreMaker = await maker(directory, (ledger) => prepare(ledger, directory));
    const fresh = async () => {
      const place = await make();
      if (name === 'journal recovery') await writeJournal(directory, place.held);
      return place;
    };

    const model = await fresh();
    const states = [JSON.stringify(await model.state())];
    const { instants } = await carryOut(model.url, command(model.held, directory), {
      prefix: 'work',
      onCommit: async () => {
        states.push(JSON.stringify(await model.state()));
      },
    });
    const whole = await model.state();
    expect(states.at(-1)).toBe(JSON.stringify(whole));
    expect(states[0]).not.toBe(JSON.stringify(whole));
    await model.remove();

    let kills = 0;
    let lost = 0;
    for (const instant of chosen(instants)) {
      const place = await fresh();
      const before = await verified(place.url);
      const end = await carryOut(place.url, command(place.held, directory), {
        dieAt: instant,
        prefix: 'work',
      });
      if (end.diedAt !== null) kills += 1;
      const texts = await verified(place.url);
      const left = await place.state();
      const isWhole = JSON.stringify(left) === JSON.stringify(whole);
      if (end.isAcknowledged && !isWhole) lost += 1;
      lost += before.filter((text, index) => texts[index] !== text).length;
      expect({ instant, ...end, lost }).toMatchObject({ lost: 0 });
      if (!states.includes(JSON.stringify(left))) expect({ instant, left }).toEqual({ instant, left: whole });
      if (isRepeatable || !isWhole) {
        const again = await carryOut(place.url, command(place.held, directory), { prefix: 'again' });
        expect(again).toMatchObject({ diedAt: null, isAcknowledged: true });
      }
      await verified(place.url);
      expect({ instant, state: await place.state() }).toEqual({ instant, state: whole });
      await place.remove();
    }
    expect(kills).toBeGreaterThan(0);
    countKills(`statements of ${name} on ${store}`, kills, lost);
    process.stdout.write(
      `killed at statements of ${name} (${store}): ${kills} of ${instants.length} instants, lost ${lost}\n`,
    );
  },
  TIMEOUT_MS,
);

test(
  'P1: a backup that is killed at its steps leaves the store as it was and a whole copy or none, and can be made again',
  async () => {
    const directory = newDirectory();
    const make = await sqliteStores(directory, claimed);
    const file = backupIn(directory);
    const model = await make();
    const state = await model.state();
    const { instants } = await carryOut(model.url, onWork('backup', file), {
      prefix: 'work',
      onCommit: async () => undefined,
    });
    await model.remove();
    let kills = 0;
    let lost = 0;
    for (const instant of chosen(instants)) {
      rmSync(file, { force: true });
      const place = await make();
      const end = await carryOut(place.url, onWork('backup', file), { dieAt: instant, prefix: 'work' });
      if (end.diedAt !== null) kills += 1;
      if (end.isAcknowledged && !existsSync(file)) lost += 1;
      expect({ instant, lost }).toEqual({ instant, lost: 0 });
      const texts = await verified(place.url);
      expect(await place.state()).toEqual(state);
      if (!existsSync(file)) await carryOut(place.url, onWork('backup', file), { prefix: 'again' });
      expect(await verified(`sqlite:${file}`)).toEqual(texts);
      await place.remove();
    }
    expect(kills).toBeGreaterThan(0);
    countKills('statements of backup on sqlite', kills, lost);
    process.stdout.write(
      `killed at statements of backup (sqlite): ${kills} of ${instants.length} instants, lost ${lost}\n`,
    );
  },
  TIMEOUT_MS,
);

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Ledger } from '@custody/ledger';
import { openJournals, openLedger, parseTaskRow } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CLI_BIN } from '../support/cli.ts';
import { collect } from '../support/collect.ts';
import { settled, started } from '../support/events.ts';
import { countFigures, countKills } from '../support/figures.ts';
import { signingKeys } from '../support/signing-keys.ts';
import { failedRow, listOf } from '../support/terminal-rows.ts';

const WORKER = fileURLToPath(new URL('../support/step-worker.mjs', import.meta.url));
const KEYS = signingKeys();
const MAX_STEPS = 200;
/** A kill takes a second, and JSONL has fifty steps with those of its index: every fifth there, each one in a long run. */
const JSONL_STRIDE = process.env['CUSTODY_TEST_LONG'] === undefined ? 5 : 1;

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'custody-steps-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

interface Died {
  readonly step: string | null;
  readonly acknowledged: readonly string[];
}

function dieAt(url: string, work: string, step: number): Died {
  const { stdout, stderr, signal } = spawnSync(process.execPath, [WORKER, url, work, String(step)], {
    encoding: 'utf8',
    env: { ...process.env, SIGNING_KEY: KEYS.privateKey, JOURNALS: join(directory, 'journals') },
  });
  const name = /^died after (\w+)$/m.exec(stdout)?.[1] ?? null;
  expect({ stderr, ended: name === null ? stdout.includes('done') : signal }).toEqual({
    stderr: '',
    ended: name === null ? true : 'SIGKILL',
  });
  return { step: name, acknowledged: [...stdout.matchAll(/^ack (\S+)$/gm)].map(([, id = '']) => id) };
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

async function prepare(url: string, work: string): Promise<void> {
  await using ledger = await openLedger(url);
  const note = work === 'rotate' ? 'x'.repeat(900_000) : '';
  await ledger.append([started('run-1', 't-1', { note }), settled('run-1'), started('run-2', 't-2')]);
  await ledger.rows.put([
    parseTaskRow(JSON.stringify(failedRow('t-1', ['run-1']))),
    parseTaskRow(JSON.stringify(failedRow('t-2', null))),
  ]);
}

const idsOf = async (ledger: Ledger) => (await collect(ledger.read())).map(({ event }) => event.id);

const ON_SQLITE = ['append', 'put', 'heal', 'sweep', 'checkpoint'].map((work) => [work, 'sqlite'] as const);
const ON_JSONL = ['append', 'rotate', 'put', 'heal', 'sweep', 'checkpoint'].map(
  (work) => [work, 'jsonl'] as const,
);

test.each([...ON_JSONL, ...ON_SQLITE])(
  'P1, P6, V9: killed after each step of %s on %s, the store verifies, nothing acknowledged is lost, and the work can be done again',
  async (work, store) => {
    const urlIn = (place: string) => (store === 'jsonl' ? `jsonl:${place}` : `sqlite:${place}/custody.db`);
    const pristine = join(directory, 'pristine');
    mkdirSync(pristine);
    await prepare(urlIn(pristine), work);
    const died: Record<string, number> = {};
    let lost = 0;
    for (let step = 1; step <= MAX_STEPS; step += store === 'jsonl' ? JSONL_STRIDE : 1) {
      const place = join(directory, `step-${step}`);
      cpSync(pristine, place, { recursive: true });
      const before = await (async () => {
        await using ledger = await openLedger(urlIn(place), { readOnly: true });
        return await idsOf(ledger);
      })();
      const { step: name, acknowledged } = dieAt(urlIn(place), work, step);

      await using ledger = await openLedger(urlIn(place));
      const ids = await idsOf(ledger);
      const missing = [...before, ...acknowledged].filter((id) => !ids.includes(id));
      lost += missing.length;
      expect(missing).toEqual([]);
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
      await ledger.append([{ id: 'w-1', type: 'run.started', run_id: 'w-1', task_id: 't-1' }]);
      expect((await idsOf(ledger)).filter((id) => id === 'w-1')).toEqual(['w-1']);
      expect(await createReconciler(ledger).backfill()).toMatchObject({ failed: [] });
      expect(await listOf(ledger, 't-2')).toEqual(['run-2']);
      const heals = await collect(ledger.read({ type: 'custody.unreconciled' }));
      expect(heals.filter(({ event }) => event['task_id'] === 't-2')).toHaveLength(1);
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
      await ledger.close();
      rmSync(place, { recursive: true, force: true });
      if (name === null) break;
      died[name] = (died[name] ?? 0) + 1;
    }
    expect(Object.keys(died).length).toBeGreaterThan(0);
    process.stdout.write(
      `killed at each step of ${work} (${store}): ${JSON.stringify(died)}, lost ${lost}\n`,
    );
    countKills(`steps of ${work} on ${store}`, sumOf(died), lost);
  },
);

test('P13: killed after each step of a journal recovery, the result is applied exactly once', async () => {
  const died: Record<string, number> = {};
  let lost = 0;
  for (let step = 1; step <= MAX_STEPS; step += 1) {
    const url = `sqlite:${join(directory, `recover-${step}.db`)}`;
    const journals = join(directory, 'journals');
    rmSync(journals, { recursive: true, force: true });
    mkdirSync(journals);
    await using ledger = await openLedger(url);
    await ledger.tasks.create({ taskId: 'm-1', title: 'T' });
    const run = await ledger.runs.claim({ taskId: 'm-1', holder: 'a' });
    if (run.outcome !== 'claimed') throw new Error('not claimed');
    await openJournals(journals).write({ taskId: 'm-1', runId: run.run_id, result: 'done' });
    const { step: name } = dieAt(url, 'recover', step);
    await openJournals(journals).recover(ledger);
    const completed = await collect(ledger.read({ type: 'task.completed' }));
    if (completed.length === 0) lost += 1;
    expect(completed).toHaveLength(1);
    expect(readdirSync(journals)).toEqual([]);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
    await ledger.close();
    if (name === null) break;
    died[name] = (died[name] ?? 0) + 1;
  }
  countKills('steps of journal recovery on sqlite', sumOf(died), lost);
  process.stdout.write(
    `killed at each step of journal recover (sqlite): ${JSON.stringify(died)}, lost ${lost}\n`,
  );
});

test('B29: killed at any instant while a store is made, it is made by the next one, whole', async () => {
  let kills = 0;
  for (const [name, urlIn] of [
    ['sqlite', (place: string) => `sqlite:${place}/custody.db`],
    ['jsonl', (place: string) => `jsonl:${place}/root`],
  ] as const)
    for (let round = 0; round < 12; round += 1) {
      const place = join(directory, `${name}-${round}`);
      mkdirSync(place);
      const child = spawn(process.execPath, [CLI_BIN, '-s', urlIn(place), 'init'], { stdio: 'ignore' });
      const ended = once(child, 'close');
      // The instant is what is tried.
      setTimeout(() => child.kill('SIGKILL'), 60 + round * 25);
      const [, signal] = (await ended) as [number | null, NodeJS.Signals | null];
      if (signal === 'SIGKILL') kills += 1;

      await using ledger = await openLedger(urlIn(place));
      await ledger.append([started('run-1', 't-1')]);
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, events: 1, problems: [] });
    }
  expect(kills).toBeGreaterThan(0);
  countFigures('kills', [['while a store is made', kills]]);
  process.stdout.write(`killed while a store is made: ${kills} of 24, each one is whole\n`);
});

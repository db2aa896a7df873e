import { openPlace, simulate } from '@custody/cli/simulation';
import { expect, test } from 'vitest';
import { naiveOracle } from '../support/naive-oracle.ts';
import { figuresText, playAll, seedsOf } from '../support/seed-run.ts';
import { HISTORIES, SEEDS } from './seeds.ts';

const SQLITE = { on: 'sqlite', from: 1, count: 40, steps: 60 } as const;
const JSONL = { on: 'jsonl', from: 1, count: 15, steps: 40 } as const;
/** What nobody can do on a store that only observes. */
const MANAGED_ONLY = ['P9', 'P11', 'P12', 'P13'];

test('P1 to P16 hold on the SQLite store, whose transactions end with their process', async () => {
  const seeds = seedsOf(SQLITE).map(holding);

  const run = await playAll(seeds.map((seed) => ({ seed, ...SQLITE })));

  process.stdout.write(figuresText('sqlite', seeds.length, run));
  expect(run.failures).toEqual([]);
  expect(run.figures.unchecked()).toEqual([]);
}, 3_600_000);

/** More histories of holders than elsewhere: their commands are what transactions are about. */
function holding(seed: number): number {
  return seed % 8 < 6 ? seed * 3 : seed * 3 + 1;
}

/** Every third history is mostly about commands, which a store that only observes refuses. */
function observing(seed: number): number {
  return seed * 3 + 1;
}

test('the promises of a store that observes hold on JSON Lines, torn lines and lost indexes among them', async () => {
  const seeds = seedsOf(JSONL).map(observing);

  const run = await playAll(seeds.map((seed) => ({ seed, ...JSONL })));

  process.stdout.write(figuresText('jsonl', seeds.length, run));
  expect(run.failures).toEqual([]);
  expect(run.figures.unchecked().filter((name) => !MANAGED_ONLY.includes(name))).toEqual([]);
}, 3_600_000);

test('seeds that broke something once hold', async () => {
  const run = await playAll(SEEDS);

  process.stdout.write(figuresText('kept', SEEDS.length, run));
  expect(run.failures).toEqual([]);
});

test.each(HISTORIES)('a history that broke something once holds: $why', async ({ on, steps }) => {
  const { failure } = await simulate({
    steps,
    openPlace: (newId) => openPlace(on, newId),
    oracle: naiveOracle,
  });

  expect(failure).toBeNull();
});

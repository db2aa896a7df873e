import { expect, test } from 'vitest';
import { figuresText, playAll, seedsOf } from '../support/seed-run.ts';

const STRETCH = { on: 'memory', from: 1_000_000, count: 220, steps: 70 } as const;

test('P1 to P16 hold on the memory store, seeds from a million', async () => {
  const seeds = seedsOf(STRETCH);

  const run = await playAll(seeds.map((seed) => ({ seed, ...STRETCH })));

  process.stdout.write(figuresText('memory', seeds.length, run));
  expect(run.failures).toEqual([]);
  expect(run.figures.unchecked()).toEqual([]);
}, 3_600_000);

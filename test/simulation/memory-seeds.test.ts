import { expect, test } from 'vitest';
import { figuresText, playAll, seedsOf } from '../support/seed-run.ts';

const STRETCH = { on: 'memory', from: 1, count: 225, steps: 70 } as const;

test('P1 to P16 hold on the memory store, seeds from 1', async () => {
  const seeds = seedsOf(STRETCH);

  const run = await playAll(seeds.map((seed) => ({ seed, ...STRETCH })));

  process.stdout.write(figuresText('memory', seeds.length, run));
  expect(run.failures).toEqual([]);
  expect(run.figures.unchecked()).toEqual([]);
}, 3_600_000);

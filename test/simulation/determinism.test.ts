import { generateSteps, playSeed } from '@custody/cli/simulation';
import { describe, expect, test } from 'vitest';
import { naiveOracle } from '../support/naive-oracle.ts';

describe.each(['memory', 'sqlite', 'jsonl'] as const)('a seed on %s', (on) => {
  test('gives the same trace each time it is played', async () => {
    const history = { seed: 7, steps: 60, on, oracle: naiveOracle };

    const first = await playSeed(history);
    const second = await playSeed(history);

    expect(first.failure).toBeNull();
    expect(second.trace).toEqual(first.trace);
    expect(second.hash).toBe(first.hash);
  });
});

test('another seed gives another history, and more steps of a seed begin with the same ones', () => {
  const few = generateSteps(7, 20);

  expect(generateSteps(7, 40).slice(0, 20)).toEqual(few);
  expect(generateSteps(8, 20)).not.toEqual(few);
});

test('a failure is told with seed, step, the shortest history that was found, and the command that repeats it', async () => {
  const { failureText } = await import('@custody/cli/simulation');
  const { tidiesUp } = await import('../support/guards-off/weak-gateway.ts');
  const history = { seed: 1, steps: 80, on: 'memory', oracle: naiveOracle, seams: tidiesUp } as const;
  let seed = 0;
  let result = await playSeed({ ...history, seed });
  while (result.failure === null && seed < 300) {
    seed += 1;
    result = await playSeed({ ...history, seed });
  }
  if (result.failure === null || result.shortest === null) throw new Error('no seed failed');

  const text = failureText({ ...history, seed }, result.failure, result.shortest);

  expect(result.shortest.result.failure?.promise).toBe('P16');
  expect(result.shortest.steps.length).toBeLessThan(12);
  expect(text).toContain(`seed ${seed} on memory: P16 at step ${result.failure.step}`);
  expect(text).toContain(`repeat: custody simulate --seed ${seed} --steps 80`);
});

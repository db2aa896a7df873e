import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import { countFigures } from './figures.ts';
import type { Random } from './root-random.ts';
import { seededRandom } from './root-random.ts';

/** A fraction of the inputs in every run, all of them on demand; the figures say how many it were. */
const SHARE = process.env['CUSTODY_TEST_LONG'] === undefined ? 0.1 : 1;

/** No input may take longer. Generous, since others use this machine, too; a hang is endless. */
const MAX_INPUT_MS = 5000;

/** What thousands of bad inputs may leave in memory. */
const MAX_GROWTH_BYTES = 96 * 1024 * 1024;

/** How often each answer was given. */
export type Tally = Record<string, number>;

/**
 * Gives hostile inputs to a reader, and watches time and memory. `feed` answers what became of one input (or of
 * one batch of `size`); what it throws is a fault. The seed of a fault is told, so that it can be had again.
 */
export async function hostileRun(
  name: string,
  { inputs, size = 1 }: { readonly inputs: number; readonly size?: number },
  feed: (random: Random, round: number) => Promise<string> | string,
): Promise<Tally> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const tally: Tally = {};
  let slowest = 0;
  collect();
  const heapBefore = process.memoryUsage().heapUsed;
  const begun = performance.now();
  const rounds = Math.ceil((inputs * SHARE) / size);
  for (let round = 0; round < rounds; round += 1) {
    const began = performance.now();
    try {
      const answer = await feed(seededRandom(round * 7919 + 17), round);
      tally[answer] = (tally[answer] ?? 0) + size;
    } catch (error) {
      throw new Error(`${name}: round ${round} failed`, { cause: error });
    }
    const took = performance.now() - began;
    slowest = Math.max(slowest, took);
    expect(took, `${name}: round ${round}`).toBeLessThan(MAX_INPUT_MS);
  }
  const seconds = (performance.now() - begun) / 1000;
  collect();
  const growth = process.memoryUsage().heapUsed - heapBefore;
  expect(growth, `${name}: memory`).toBeLessThan(MAX_GROWTH_BYTES);
  countFigures('hostile inputs', [[name, rounds * size]]);
  const answers = Object.entries(tally).map(([answer, count]) => `${count} ${answer}`);
  process.stdout.write(
    `hostile ${name}: ${rounds * size} inputs (${answers.join(', ')}), ${seconds.toFixed(1)} s, slowest ${slowest.toFixed(0)} ms for ${size}, heap ${mebibytes(heapBefore)} MiB before and ${mebibytes(heapBefore + growth)} MiB after\n`,
  );
  return tally;
}

function mebibytes(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1);
}

import type { Failure, SimulationResult } from './simulate.ts';
import type { Step } from './step.ts';

/** A short history that still breaks the same promise. */
export interface Minimized {
  readonly steps: readonly Step[];
  readonly result: SimulationResult;
}

/** More plays than this are not spent on one failure. */
const MAX_PLAYS = 600;

/**
 * Drops steps as long as what is left still breaks the same promise: first everything after the failure, then
 * larger and smaller pieces, in the end every single step.
 */
export async function minimize(
  steps: readonly Step[],
  failed: SimulationResult & { readonly failure: Failure },
  play: (steps: readonly Step[]) => Promise<SimulationResult>,
): Promise<Minimized> {
  let best: Minimized = { steps, result: failed };
  let plays = 0;

  async function tries(candidate: readonly Step[]): Promise<boolean> {
    if (candidate.length === best.steps.length || plays >= MAX_PLAYS) return false;
    plays += 1;
    const result = await play(candidate);
    if (result.failure?.promise !== failed.failure.promise) return false;
    best = { steps: candidate, result };
    return true;
  }

  await tries(steps.slice(0, failed.failure.step + 1));
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = best.steps.length - size; at > -size; at -= size) {
      const start = Math.max(0, at);
      await tries(best.steps.toSpliced(start, size));
    }
  }
  return best;
}

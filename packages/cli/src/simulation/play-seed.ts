import type { Minimized } from './minimize.ts';
import { minimize } from './minimize.ts';
import { openPlace } from './open-place.ts';
import type { Oracle } from './oracle.ts';
import type { PlaceKind } from './place-kinds.ts';
import type { Failure, SimulationResult } from './simulate.ts';
import { simulate } from './simulate.ts';
import type { Step } from './step.ts';
import { generateSteps } from './step.ts';
import type { Seams } from './world.ts';

/** Which history is played, and where. */
export interface SeedOptions {
  readonly seed: number;
  readonly steps: number;
  readonly on: PlaceKind;
  readonly oracle?: Oracle;
  readonly seams?: Seams;
}

/** What became of the history of a seed; with a failure, a short history that fails the same way. */
export interface SeedResult extends SimulationResult {
  readonly shortest: Minimized | null;
}

/** Plays the history of a seed, and shortens it if it fails. */
export async function playSeed(options: SeedOptions): Promise<SeedResult> {
  const { seed, on, oracle, seams } = options;
  const steps = generateSteps(seed, options.steps);
  const play = (history: readonly Step[]): Promise<SimulationResult> =>
    simulate({
      steps: history,
      openPlace: (newId) => openPlace(on, newId),
      ...(oracle === undefined ? {} : { oracle }),
      ...(seams === undefined ? {} : { seams }),
    });
  const result = await play(steps);
  if (result.failure === null) return { ...result, shortest: null };
  return { ...result, shortest: await minimize(steps, { ...result, failure: result.failure }, play) };
}

/** The command that plays a seed again. */
export function repeatCommand({ seed, steps, on }: Pick<SeedOptions, 'seed' | 'steps' | 'on'>): string {
  return `custody simulate --seed ${seed} --steps ${steps}${on === 'memory' ? '' : ` --on ${on}`}`;
}

/** What a person needs to go after a failure: seed, step, the shortened history, and the command that repeats it. */
export function failureText(options: SeedOptions, failure: Failure, shortest: Minimized): string {
  const { steps, result } = shortest;
  const isEnd = failure.step >= options.steps;
  return [
    `seed ${options.seed} on ${options.on}: ${failure.promise} ${isEnd ? 'after the last step' : `at step ${failure.step}`}`,
    `  ${failure.message}`,
    `${steps.length} of ${options.steps} steps do it, too:`,
    ...result.trace.map((line) => `  ${line}`),
    ...(result.trace.length < steps.length ? [`  then ${printRest(steps, result)}`] : []),
    `  ${result.failure?.message ?? ''}`,
    `repeat: ${repeatCommand(options)}`,
  ].join('\n');
}

function printRest(steps: readonly Step[], result: SimulationResult): string {
  return steps
    .slice(result.trace.length)
    .map((step) => `${step.kind} n${step.node}${step.strike === undefined ? '' : ` ${step.strike.kind}`}`)
    .join(', ');
}

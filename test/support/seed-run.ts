import type { PlaceKind, SeedOptions } from '@custody/cli/simulation';
import { FAULTS, Figures, failureText, PROMISES, playSeed } from '@custody/cli/simulation';
import { countFigures } from './figures.ts';
import { naiveOracle } from './naive-oracle.ts';

/** How many times more seeds a long run plays. */
const LONG_FACTOR = 40;

/** A stretch of seeds on one kind of store. */
export interface Stretch {
  readonly on: PlaceKind;
  readonly from: number;
  readonly count: number;
  readonly steps: number;
}

/** What a stretch came to. */
export interface SeedRun {
  readonly figures: Figures;
  readonly steps: number;
  /** What a person needs to repeat each failure. */
  readonly failures: readonly string[];
}

/** The seeds of a stretch; more of them in a long run. */
export function seedsOf({ from, count }: Stretch): readonly number[] {
  const isLong = (process.env['CUSTODY_TEST_LONG'] ?? '') !== '';
  return Array.from({ length: isLong ? count * LONG_FACTOR : count }, (_, index) => from + index);
}

/** Plays seeds against the naive oracle; the first few failures are enough. */
export async function playAll(histories: readonly SeedOptions[]): Promise<SeedRun> {
  const figures = new Figures();
  const failures: string[] = [];
  let steps = 0;
  for (const history of histories) {
    const result = await playSeed({ ...history, oracle: naiveOracle });
    figures.add(result.figures);
    steps += history.steps;
    if (result.failure !== null && result.shortest !== null)
      failures.push(failureText(history, result.failure, result.shortest));
    if (failures.length >= 3) break;
  }
  return { figures, steps, failures };
}

/** The figures of a run, for people; counts them for the end of the whole run, too. */
export function figuresText(name: string, count: number, { figures, steps }: SeedRun): string {
  countFigures('simulated seeds', [[name, count]]);
  countFigures('simulated steps', [[name, steps]]);
  countFigures('simulated faults', figures.faults);
  countFigures('simulated checks', figures.checks);
  const of = (names: readonly string[], counts: ReadonlyMap<string, number>) =>
    names.map((key) => `${key} ${counts.get(key) ?? 0}`).join(', ');
  return `${name}: ${count} seeds, ${steps} steps\n  faults: ${of(FAULTS, figures.faults)}\n  checks: ${of(PROMISES, figures.checks)}\n`;
}

/** One side of a comparison: runs its fixed work once and says how long it took, in milliseconds. */
interface Side {
  readonly name: string;
  run(): Promise<number>;
}

/** A budget: ours against a bound, both measured in the same run. */
export interface Comparison {
  readonly name: string;
  /** How much of one is done, so that a rate can be printed. */
  readonly units: number;
  readonly unit: string;
  readonly ours: Side;
  readonly bound: Side;
  /** Least ratio of our rate to the bound's. */
  readonly atLeast: number;
  /** What both sides promise of durability, and whatever a reader must know to trust the figure. */
  readonly note: string;
}

/** Median, least and most of some figures. */
interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** What a comparison came to. */
export interface Measured {
  readonly name: string;
  readonly unit: string;
  readonly ours_per_second: number;
  readonly bound_per_second: number;
  readonly ratio: Spread;
  readonly at_least: number;
  readonly met: boolean;
  readonly ours: string;
  readonly bound: string;
  readonly note: string;
}

/** Runs both sides in turn, round by round, so that a busy machine slows both. */
export async function measure(comparison: Comparison, rounds: number): Promise<Measured> {
  const ours: number[] = [];
  const bound: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    ours.push(await comparison.ours.run());
    bound.push(await comparison.bound.run());
  }
  const ratio = spreadOf(ours.map((milliseconds, index) => (bound[index] ?? Number.NaN) / milliseconds));
  return {
    name: comparison.name,
    unit: comparison.unit,
    ours_per_second: rate(comparison.units, spreadOf(ours).median),
    bound_per_second: rate(comparison.units, spreadOf(bound).median),
    ratio,
    at_least: comparison.atLeast,
    met: ratio.median >= comparison.atLeast,
    ours: comparison.ours.name,
    bound: comparison.bound.name,
    note: comparison.note,
  };
}

function rate(units: number, milliseconds: number): number {
  return Math.round((units / milliseconds) * 1000);
}

function spreadOf(figures: readonly number[]): Spread {
  const sorted = [...figures].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { median: at(0.5), min: at(0), max: at(1) };
}

/** Times work in milliseconds. */
export async function timed(work: () => Promise<void> | void): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** One side of a comparison: runs its fixed work once and says how long it took, in milliseconds, or how much it took. */
interface Side {
  readonly name: string;
  run(): Promise<number>;
}

/** A budget: ours against a peer or a bound, both measured in the same run. */
export interface Comparison {
  readonly name: string;
  /** How much of one is done, so that a rate can be printed; null where what a side returns is told as it is. */
  readonly units: number | null;
  /** What is done, or what a side returns. */
  readonly unit: string;
  readonly ours: Side;
  readonly bound: Side;
  /** Least ratio of our rate to the other's; null where the figure is told and no budget. */
  readonly atLeast: number | null;
  /** How durable both sides are. */
  readonly durability: string;
  /** Whatever a reader must know to trust the figure, and what the other side can't do. */
  readonly note: string;
  /** Ends what the sides have opened. */
  close?(): Promise<void>;
}

/** Median, least and most of some figures. */
interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** What a comparison came to. */
export interface Measured {
  readonly id: string;
  readonly name: string;
  /** Of both figures: a rate, for which more is better, or a time or a size, for which less is. */
  readonly unit: string;
  readonly rounds: number;
  readonly ours: string;
  readonly ours_figure: number;
  readonly bound: string;
  readonly bound_figure: number;
  readonly ratio: Spread;
  readonly at_least: number | null;
  readonly met: boolean | null;
  readonly durability: string;
  readonly note: string;
}

/** Runs both sides in turn, round by round, so that a busy machine slows both; who goes first changes each time. */
export async function measure(id: string, comparison: Comparison, rounds: number): Promise<Measured> {
  const ours: number[] = [];
  const bound: number[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      if (round % 2 === 0) ours.push(await comparison.ours.run());
      bound.push(await comparison.bound.run());
      if (round % 2 === 1) ours.push(await comparison.ours.run());
    }
  } finally {
    await comparison.close?.();
  }
  const ratio = spreadOf(ours.map((milliseconds, index) => (bound[index] ?? Number.NaN) / milliseconds));
  const { atLeast } = comparison;
  return {
    id,
    name: comparison.name,
    unit: comparison.units === null ? comparison.unit : `${comparison.unit}/s`,
    rounds,
    ours: comparison.ours.name,
    ours_figure: figureOf(comparison, ours),
    bound: comparison.bound.name,
    bound_figure: figureOf(comparison, bound),
    ratio,
    at_least: atLeast,
    met: atLeast === null ? null : ratio.median >= atLeast,
    durability: comparison.durability,
    note: comparison.note,
  };
}

function figureOf({ units }: Comparison, measured: readonly number[]): number {
  const { median } = spreadOf(measured);
  const figure = units === null ? median : (units / median) * 1000;
  return figure < 100 ? Number(figure.toFixed(1)) : Math.round(figure);
}

/** Median, least and most. */
export function spreadOf(figures: readonly number[]): Spread {
  const sorted = [...figures].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { median: at(0.5), min: at(0), max: at(1) };
}

/** Times work in milliseconds. */
export async function timed(work: () => Promise<unknown> | unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** A source of numbers that a seed determines: the same seed, the same numbers, on every machine. */
export interface Random {
  /** A whole number, both bounds included. */
  int(min: number, max: number): number;
  /** True in one of `times` cases. */
  oneIn(times: number): boolean;
  /** Picks an item with a probability in proportion to its weight. */
  weighted<T>(items: readonly (readonly [T, number])[]): T;
}

/** Numbers of a seed. */
export function seededRandom(seed: number): Random {
  const generator = xoroshiro128plus(seed);
  const int = (min: number, max: number): number => uniformInt(generator, min, max);
  return {
    int,
    oneIn: (times) => int(1, times) === 1,
    weighted: (items) => {
      let rest = int(
        1,
        items.reduce((sum, [, weight]) => sum + weight, 0),
      );
      for (const [item, weight] of items) {
        rest -= weight;
        if (rest <= 0) return item;
      }
      throw new Error('nothing to pick from');
    },
  };
}

/** Picks by a number; null when there is nothing. The newest come first: with them something can still be done. */
export function picked<T>(items: readonly T[], number: number): T | null {
  return items[items.length - 1 - (number % items.length)] ?? null;
}

/** A source of numbers that a seed determines: the same seed, the same numbers, on every machine. */
export interface Random {
  /** At least 0, less than 1. */
  next(): number;
  /** A whole number, both bounds included. */
  int(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly [T, ...T[]]): T;
  /** Picks an item with a probability in proportion to its weight. */
  weighted<T>(items: readonly [readonly [number, T], ...(readonly [number, T])[]]): T;
  hex(length: number): string;
}

const TWO_TO_32 = 4_294_967_296;

/** Source: mulberry32, by Tommy Ettinger (public domain). Small, and good enough for test data. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / TWO_TO_32;
  };
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (items) => items[int(0, items.length - 1)] ?? items[0],
    weighted: (items) => {
      let rest = next() * items.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, item] of items) {
        rest -= weight;
        if (rest < 0) return item;
      }
      return items[0][1];
    },
    hex: (length) => Array.from({ length }, () => int(0, 15).toString(16)).join(''),
  };
}

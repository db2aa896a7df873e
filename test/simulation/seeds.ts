import type { PlaceKind, Step } from '@custody/cli/simulation';

/** A history that once broke something, here or in what looks on. It is played for ever. */
export interface KeptSeed {
  readonly seed: number;
  readonly steps: number;
  readonly on: PlaceKind;
  readonly why: string;
}

/** Found seeds. Add one with each failure; never take one out. */
export const SEEDS: readonly KeptSeed[] = [
  { seed: 71, steps: 80, on: 'memory', why: 'two claims of one task at once' },
  { seed: 2, steps: 80, on: 'memory', why: 'the start of a run takes over what its request said' },
  {
    seed: 5,
    steps: 80,
    on: 'memory',
    why: 'a start that is refused by an older epoch is sent again after its end',
  },
];

/** A short history itself: it stays what it is, also when seeds come to mean other steps. */
export interface KeptHistory {
  readonly why: string;
  readonly on: PlaceKind;
  readonly steps: readonly Step[];
}

/** Shortened histories of real faults. */
export const HISTORIES: readonly KeptHistory[] = [
  {
    why: 'a claim is answered while the next one takes the task over: the memory store told of the later moment, and the claim threw',
    on: 'memory',
    steps: [
      { kind: 'skew', node: 0, a: 1414, b: 9998, c: 8957 },
      { kind: 'advance', node: 2, a: 5072, b: 2733, c: 4114 },
      { kind: 'create', node: 1, a: 1953, b: 2579, c: 849 },
      { kind: 'create', node: 0, a: 9121, b: 8982, c: 4813 },
      { kind: 'claim', node: 0, a: 495, b: 9533, c: 6714 },
      { kind: 'claim', node: 0, a: 3491, b: 5332, c: 4783, together: true },
      { kind: 'claim', node: 2, a: 800, b: 9638, c: 1755, together: true },
    ],
  },
];

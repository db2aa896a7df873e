import type { PlaceKind } from '@custody/cli/simulation';

/** A history that once broke something, here or in what looks on. It is played for ever. */
export interface KeptSeed {
  readonly seed: number;
  readonly steps: number;
  readonly on: PlaceKind;
  readonly why: string;
}

/** Found seeds. Add one with each failure; never take one out. */
export const SEEDS: readonly KeptSeed[] = [
  {
    seed: 435,
    steps: 80,
    on: 'memory',
    why: 'a delegated run goes on beside a parked attempt that is replayed',
  },
  { seed: 193, steps: 80, on: 'memory', why: 'a verdict waits for a task that waits for another one' },
  {
    seed: 199,
    steps: 80,
    on: 'memory',
    why: 'a message gets through while a sweep of an older epoch is refused',
  },
  { seed: 102, steps: 80, on: 'memory', why: 'an orchestrator adds a live field to a row that has ended' },
  { seed: 39, steps: 60, on: 'sqlite', why: 'a transaction is under way when its process ends' },
  { seed: 2, steps: 80, on: 'memory', why: 'the start of a run takes over what its request said' },
  {
    seed: 71,
    steps: 80,
    on: 'memory',
    why: 'a claim is answered while the next one takes the task over; the memory store told of the later moment',
  },
];

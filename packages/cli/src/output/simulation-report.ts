import type { PlaceKind } from '../simulation/place-kinds.ts';

/** What a simulation came to, as it is printed. */
export interface SimulationReport {
  readonly seed: number;
  readonly steps: number;
  readonly on: PlaceKind;
  /** False if a promise broke. */
  readonly ok: boolean;
  /** The same seed, steps and store give the same hash. */
  readonly trace_hash: string;
  readonly faults: readonly { readonly fault: string; readonly count: number }[];
  readonly checks: readonly { readonly promise: string; readonly count: number }[];
  readonly failure: {
    readonly promise: string;
    readonly step: number;
    readonly message: string;
    /** The shortest history that was found to fail the same way, a line a step. */
    readonly history: readonly string[];
  } | null;
  readonly repeat: string;
}

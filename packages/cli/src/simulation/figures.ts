import type { PromiseName } from './promise-broken.ts';
import { PROMISES, PromiseBroken } from './promise-broken.ts';
import type { StrikeKind } from './step.ts';

/** Everything that goes wrong in a world, by the name under which it is counted. */
export const FAULTS = [
  'crash_before',
  'crash_inside',
  'crash_after',
  'lock_timeout',
  'disk_full',
  'event_lost',
  'event_duplicated',
  'event_reordered',
  'run_vanished',
  'gateway_slow',
  'gateway_dead',
  'gateway_unknown',
  'log_unreadable',
  'clock_skew',
  'pause',
  'torn_line',
  'index_lost',
] as const satisfies readonly (StrikeKind | string)[];

/** One of {@link FAULTS}. */
export type FaultName = (typeof FAULTS)[number];

/** What a run did: how often each fault struck, and how often each promise was put to the test. */
export class Figures {
  readonly faults = new Map<FaultName, number>();
  readonly checks = new Map<PromiseName, number>();
  /** What broke first. It is kept, because whoever is in between may take what is thrown for a fault of the outside. */
  broken: PromiseBroken | null = null;

  struck(fault: FaultName): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1);
  }

  /** Counts a check that could have failed, and fails if it did. */
  hold(promise: PromiseName, isKept: boolean, otherwise: () => string): void {
    this.checks.set(promise, (this.checks.get(promise) ?? 0) + 1);
    if (isKept) return;
    const broken = new PromiseBroken(promise, otherwise());
    this.broken ??= broken;
    throw broken;
  }

  add(other: Figures): void {
    for (const [name, count] of other.faults) this.faults.set(name, (this.faults.get(name) ?? 0) + count);
    for (const [name, count] of other.checks) this.checks.set(name, (this.checks.get(name) ?? 0) + count);
  }

  /** Promises that nothing put to the test: a hole. */
  unchecked(): readonly PromiseName[] {
    return PROMISES.filter((name) => !this.checks.has(name));
  }
}

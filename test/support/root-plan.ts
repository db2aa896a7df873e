import type { Json, JsonFields } from './root-json.ts';
import type { Random } from './root-random.ts';

/** What a data root is to hold. */
export interface RootOptions {
  readonly seed: number;
  readonly tasks: number;
  readonly runs: number;
  /** Archived segments; the live file comes on top. */
  readonly segments: number;
  /** Rows of other subsystems for each custody row. */
  readonly noise: number;
}

/** An event before it is written: the log stands in the order of `atMs`. */
export interface PlannedEvent {
  readonly atMs: number;
  readonly row: JsonFields;
}

/** A data root while it is being invented. */
export interface RootPlan {
  readonly options: RootOptions;
  readonly random: Random;
  readonly taskIds: readonly [string, ...string[]];
  readonly events: PlannedEvent[];
  readonly faultEvents: PlannedEvent[];
  /** How often each kind of trap was laid, by its name. */
  readonly traps: Map<string, number>;
}

/** What the rows of one run agree on. */
export interface RunFacts {
  readonly runId: string;
  readonly taskId: string;
  readonly startMs: number;
  readonly invocationId: string;
  readonly snapshotId: string;
  readonly projectId: string;
  /** As the writers of this run spell its origin; undefined when they leave it out. */
  readonly source: Json | undefined;
  readonly start: JsonFields;
}

/** The time that the invented log spans. */
export const SPAN_MS = 36 * 3_600_000;

const EPOCH_MS = Date.UTC(2026, 2, 1);

export function emit(plan: RootPlan, atMs: number, row: JsonFields): void {
  plan.events.push({ atMs, row: { ts: timestamp(plan.random, atMs), ...row } });
}

export function layTrap(plan: RootPlan, name: string): void {
  plan.traps.set(name, (plan.traps.get(name) ?? 0) + 1);
}

/** Draws whether to lay a trap, and counts it if so. */
export function isTrap(plan: RootPlan, name: string, probability: number): boolean {
  const isLaid = plan.random.chance(probability);
  if (isLaid) layTrap(plan, name);
  return isLaid;
}

/** A time in one of the two spellings that stand in real logs. */
export function timestamp(random: Random, atMs: number): string {
  const text = new Date(EPOCH_MS + Math.floor(atMs)).toISOString();
  return random.chance(0.85) ? text.replace('Z', '000+00:00') : text;
}

import type { Step } from './step.ts';
import type { Node, Running, World } from './world.ts';

const SPANS_MS = [1, 1_000, 6_000, 60_001, 125_000, 1_000_000] as const;
const SKEWS_MS = [-300_000, -5_000, 0, 5_000, 1_200_000] as const;
/** A jump beyond this, and leases may run out while their holders are paused. */
const PAUSE_MS = 60_000;

/** Time passes, for everybody at once. */
export function advance(world: World, step: Step): string {
  const span = SPANS_MS[step.a % SPANS_MS.length] ?? 1;
  world.advance(span);
  if (span > PAUSE_MS && world.held.length > 0) world.figures.struck('pause');
  return `${span} ms later`;
}

/** The clock of a machine is set wrong, or right again. */
export function skew(world: World, node: Node, step: Step): string {
  node.skewMs = SKEWS_MS[step.a % SKEWS_MS.length] ?? 0;
  if (node.skewMs !== 0) world.figures.struck('clock_skew');
  return `the clock of n${node.index} is off by ${node.skewMs} ms`;
}

/** The external system can be reached in another way. */
export function reach(world: World, step: Step): string {
  world.executor.reachability = (['well', 'well', 'slow', 'dead', 'garbled'] as const)[step.a % 5] ?? 'well';
  return `the executor is ${world.executor.reachability}`;
}

/** The log can't be read for a while; or, where the place knows how, something damages what stands on disk. */
export function damage(world: World, step: Step): string {
  const damaged = step.a % 2 === 0 ? null : (world.place.damage?.(step.b) ?? null);
  if (damaged === null) world.unreadableFor = 1 + (step.b % 4);
  world.figures.struck(damaged ?? 'log_unreadable');
  return damaged ?? `the log can't be read for ${world.unreadableFor} steps`;
}

/** A node takes the ledger over: every other handle is of an older epoch from then on. */
export async function failover(world: World, running: Running): Promise<string> {
  const raised = await running.ledger.raiseEpoch(`failover ${world.next()}`);
  running.epoch = raised.epoch;
  return `epoch ${raised.epoch}, restamped ${raised.restamped.join(' ')}`;
}

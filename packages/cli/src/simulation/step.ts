import type { Random } from './random.ts';
import { seededRandom } from './random.ts';

/** What may happen in a world, beside how often it does. */
const STEP_WEIGHTS = {
  // The orchestrator and the external system.
  request: 5,
  start: 14,
  finish: 12,
  vanish: 2,
  deliver: 14,
  duplicate: 4,
  lose: 2,
  leave: 8,
  row: 12,
  rewrite: 4,
  bad_event: 3,
  // Operators, holders and persons.
  create: 6,
  link: 2,
  claim: 14,
  beat: 2,
  push: 3,
  submit: 6,
  complete: 6,
  replay: 3,
  block: 5,
  unblock: 4,
  specify: 2,
  fail: 1,
  exit: 3,
  end_process: 2,
  reclaim: 3,
  ask: 5,
  park: 4,
  answer: 7,
  take: 6,
  cancel: 1,
  archive: 1,
  journal: 3,
  bad_command: 1,
  // The reconciler.
  backfill: 7,
  sweep: 14,
  clear: 4,
  planned: 3,
  // The surroundings.
  advance: 8,
  skew: 2,
  gateway: 6,
  unreadable: 2,
  restart: 3,
  failover: 2,
  refresh: 2,
} as const;

/** One of the things that may happen. */
export type StepKind = keyof typeof STEP_WEIGHTS;

/** What may go wrong at a call of the node that takes a step. */
const STRIKE_WEIGHTS = {
  crash_before: 3,
  crash_inside: 2,
  crash_after: 3,
  lock_timeout: 3,
  disk_full: 2,
} as const;

/** One of the faults that a call of a store may meet. */
export type StrikeKind = keyof typeof STRIKE_WEIGHTS;

/** A fault that waits for the `at`-th call, from 0, of the step that it goes with. */
export interface Strike {
  readonly kind: StrikeKind;
  readonly at: number;
}

/**
 * One thing that happens. It is data, and means something in whatever world it meets: numbers pick from what is
 * there then. So steps can be left out, and what is left is still a history.
 */
export interface Step {
  readonly kind: StepKind;
  /** The node that takes the step. */
  readonly node: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly strike?: Strike;
  /** True if the next step begins before this one has ended. */
  readonly together?: boolean;
}

const PICK_MAX = 9_999;
const STRIKE_AT_MAX = 30;

function entriesOf<K extends string>(
  weights: Readonly<Record<K, number>>,
): readonly (readonly [K, number])[] {
  return Object.entries(weights) as unknown as readonly (readonly [K, number])[];
}

const STRIKES = entriesOf(STRIKE_WEIGHTS);
const MIXED = entriesOf(STEP_WEIGHTS);
/** What holders and persons do; in every third world most of what happens is of this kind. */
const HELD: ReadonlySet<StepKind> = new Set([
  'create',
  'claim',
  'push',
  'submit',
  'complete',
  'replay',
  'block',
  'unblock',
  'exit',
  'ask',
  'park',
  'answer',
  'take',
  'advance',
]);
const MOSTLY_HELD = MIXED.map(([kind, weight]) => [kind, HELD.has(kind) ? weight * 5 : weight] as const);

/** The steps of a seed. More steps of one seed begin with the same ones. */
export function generateSteps(seed: number, count: number): readonly Step[] {
  const random = seededRandom(seed);
  const kinds = seed % 3 === 0 ? MOSTLY_HELD : MIXED;
  return Array.from({ length: count }, () => generateStep(random, kinds));
}

function generateStep(random: Random, kinds: typeof MIXED): Step {
  const step = {
    kind: random.weighted(kinds),
    node: random.int(0, 2),
    a: random.int(0, PICK_MAX),
    b: random.int(0, PICK_MAX),
    c: random.int(0, PICK_MAX),
  };
  const strike = random.oneIn(5)
    ? { strike: { kind: random.weighted(STRIKES), at: random.int(0, random.int(0, STRIKE_AT_MAX)) } }
    : {};
  return { ...step, ...strike, ...(random.oneIn(8) ? { together: true } : {}) };
}

/** A step on one line. */
export function printStep({ kind, node, a, b, c, strike, together }: Step): string {
  const fault = strike === undefined ? '' : ` ${strike.kind}@${strike.at}`;
  return `${kind} n${node} ${a}/${b}/${c}${fault}${together === true ? ' &' : ''}`;
}

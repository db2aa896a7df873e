import { badCommand, badEvent } from './bad-input.ts';
import { answerText, MANAGED_ACTS } from './managed-steps.ts';
import * as observed from './observed-steps.ts';
import type { PassOutcome } from './pass-steps.ts';
import { backfill, clear, liveTasks, planned, sweep } from './pass-steps.ts';
import type { Step, StepKind } from './step.ts';
import * as surroundings from './surroundings.ts';
import type { Node, Running, World } from './world.ts';

/** Where a step is taken. */
interface Here {
  readonly world: World;
  readonly node: Node;
  readonly running: Running;
}

type Act = (here: Here, step: Step) => string | Promise<string | PassOutcome>;
type ManagedKind = keyof typeof MANAGED_ACTS | 'bad_command' | 'failover';

/** What happens in each kind of step that any store takes. */
const ACTS: Readonly<Record<Exclude<StepKind, ManagedKind>, Act>> = {
  request: ({ world, running }, step) => observed.request(world, running, step),
  start: ({ world, running }, step) => observed.start(world, running, step),
  finish: ({ world }, step) => observed.finish(world, step),
  vanish: ({ world }, step) => observed.vanish(world, step),
  deliver: ({ world, running }, step) => observed.deliver(world, running, step),
  duplicate: ({ world, running }, step) => observed.duplicate(world, running, step),
  lose: ({ world }, step) => observed.lose(world, step),
  leave: ({ world, running }, step) => observed.leave(world, running, step),
  row: ({ world, running }, step) => observed.putRow(world, running, step),
  rewrite: ({ world, running }, step) => observed.rewrite(world, running, step),
  bad_event: ({ world, running }, step) => badEvent(world, running, step),
  backfill: ({ world, running }) => backfill(world, running),
  sweep: ({ world, running }, step) => sweep(world, running, liveTasks(step.a)),
  clear: ({ world, running }, step) => clear(world, running, step),
  planned: ({ world, running }, step) =>
    planned(world, running, async () =>
      step.a % 2 === 0 ? 'nothing in between' : observed.deliver(world, running, step),
    ),
  advance: ({ world }, step) => surroundings.advance(world, step),
  skew: ({ world, node }, step) => surroundings.skew(world, node, step),
  gateway: ({ world }, step) => surroundings.reach(world, step),
  unreadable: ({ world }, step) => surroundings.damage(world, step),
  restart: ({ node, running }) => {
    running.life.end();
    return `n${node.index} ended`;
  },
};

/** Takes a step and says what came of it. */
export async function takeStep(here: Here, step: Step): Promise<PassOutcome> {
  const told = await tell(here, step);
  return typeof told === 'string' ? { said: told, done: null } : told;
}

function tell(here: Here, step: Step): string | Promise<string | PassOutcome> {
  return isManaged(step.kind) ? command(here, step, step.kind) : ACTS[step.kind](here, step);
}

function isManaged(kind: StepKind): kind is ManagedKind {
  return !Object.hasOwn(ACTS, kind);
}

async function command({ world, running }: Here, step: Step, kind: ManagedKind): Promise<string> {
  if (!running.ledger.managesTasks) return 'this store only observes';
  if (kind === 'bad_command') return badCommand(world, running, step);
  if (kind === 'failover') return surroundings.failover(world, running);
  return answerText(await MANAGED_ACTS[kind](world, running, step));
}

import type { Ledger, NewTask } from '@custody/ledger';
import { BLOCK_KINDS } from '@custody/ledger';
import type { Random } from './root-random.ts';

/** A run as a claim gave it. */
interface Held {
  readonly taskId: string;
  readonly runId: string;
  readonly fence: number;
}

const NOBODY: Held = { taskId: 't-1', runId: 'run-none', fence: 1 };

/** At least 0, less than the limit. */
export function below(random: Random, limit: number): number {
  return limit <= 1 ? 0 : random.int(0, limit - 1);
}

/** What a series of random commands knows. */
export interface World {
  readonly random: Random;
  readonly held: Held[];
  tasks: number;
  acts: number;
}

/** Acts on a ledger at random: most commands make sense where the task stands, some come late or from nobody. */
export async function act(ledger: Ledger, world: World): Promise<void> {
  const { random, held } = world;
  world.acts += 1;
  const taskId = `t-${below(random, world.tasks + 1)}`;
  const run = held[below(random, held.length)] ?? NOBODY;
  const kind = random.pick([null, ...BLOCK_KINDS]);
  switch (below(random, 20)) {
    case 0:
    case 1: {
      world.tasks += 1;
      const parents =
        below(random, 3) === 0 && world.tasks > 1 ? [`t-${1 + below(random, world.tasks - 1)}`] : [];
      const initial = random.pick([undefined, undefined, 'triage', 'blocked'] as const);
      const task: NewTask = {
        taskId: `t-${world.tasks}`,
        title: 'work',
        parents,
        priority: below(random, 3),
      };
      await ledger.tasks.create(initial === undefined ? task : { ...task, initial });
      return;
    }
    case 2:
    case 3:
    case 4:
    case 5: {
      const answer = await ledger.runs.claim({ holder: `h-${below(random, 5)}` });
      if (answer.outcome === 'claimed')
        held.push({ taskId: answer.task_id, runId: answer.run_id, fence: answer.fence });
      return;
    }
    case 6:
    case 7:
      await ledger.runs.complete({ ...run, result: { act: world.acts } });
      return;
    case 8:
      await ledger.runs.block({ ...run, reason: 'stuck', kind });
      return;
    case 9:
      await ledger.tasks.unblock({ taskId });
      return;
    case 10:
      await ledger.runs.submit({
        ...run,
        idempotencyKey: `k-${below(random, 200)}`,
        value: below(random, 3),
      });
      return;
    case 11:
      await ledger.runs.push({ ...run, state: 'working' });
      return;
    case 12:
      await ledger.runs.reclaim({ taskId: run.taskId, runId: run.runId, reason: 'random' });
      return;
    case 13:
      await ledger.runs.exited({
        ...run,
        exit: random.pick([{ kind: 'code', code: random.pick([0, 1, 75]) }, { kind: 'unknown' }] as const),
      });
      return;
    case 14:
      await ledger.runs.complete({
        taskId: run.taskId,
        runId: run.runId,
        replay: true,
        result: { act: world.acts },
      });
      return;
    case 15:
      await ledger.tasks.specify({ taskId, title: `work ${world.acts}`, author: 'ann' });
      await ledger.tasks.comment({
        taskId,
        author: 'ann',
        body: 'hm',
        ...(below(random, 2) === 0 && run.taskId === taskId ? { runId: run.runId } : {}),
      });
      return;
    case 16:
      await ledger.tasks.decompose({ taskId, children: [{ taskId: `c-${world.acts}`, title: 'part' }] });
      await ledger.tasks.promote({ taskId, actor: 'ann' });
      return;
    case 17:
      await ledger.tasks.link({ taskId, parentId: `t-${below(random, world.tasks + 1)}` });
      await ledger.tasks.assign({ taskId, assignee: `h-${below(random, 5)}` });
      return;
    case 18:
      await ledger.append([
        { type: 'run.started', run_id: `d-${world.acts}`, task_id: run.taskId },
        { type: 'run.settled', run_id: `d-${world.acts}`, state: 'succeeded' },
      ]);
      return;
    default:
      // Seldom, so that most tasks live long enough for something to happen to them.
      if (below(random, 4) === 0) await end(ledger, random, { taskId, run });
  }
}

async function end(
  ledger: Ledger,
  random: Random,
  { taskId, run }: { readonly taskId: string; readonly run: Held },
): Promise<void> {
  const way = below(random, 3);
  if (way === 0) await ledger.tasks.cancel({ taskId });
  else if (way === 1) await ledger.tasks.archive({ taskId });
  else await ledger.runs.fail({ ...run, reason: 'no' });
}

import type { Ledger, NewEvent, NewTask } from '@custody/ledger';
import { BLOCK_KINDS } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import type { Desk } from '../support/managed.ts';
import { MANAGING_STORES, openDesk } from '../support/managed.ts';
import type { Random } from '../support/root-random.ts';
import { seededRandom } from '../support/root-random.ts';

interface Held {
  readonly taskId: string;
  readonly runId: string;
  readonly fence: number;
}

const NOBODY: Held = { taskId: 't-1', runId: 'run-none', fence: 1 };

/** At least 0, less than the limit. */
function below(random: Random, limit: number): number {
  return limit <= 1 ? 0 : random.int(0, limit - 1);
}

/** What a series of random commands knows. */
interface World {
  readonly random: Random;
  readonly held: Held[];
  tasks: number;
  acts: number;
}

/** Acts on a ledger at random: most commands make sense where the task stands, some come late or from nobody. */
async function act(ledger: Ledger, world: World): Promise<void> {
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

async function assertSane(desk: Desk): Promise<void> {
  const running = await desk.ledger.leases.running();
  expect(running.filter((task) => task.lease === null)).toEqual([]);
  for await (const { row } of desk.ledger.rows.list({})) {
    const task = await desk.task(row.task_id);
    const open = task.runs.filter((run) => run.ended_at === null);
    // P11: one open attempt at most, and it is the one that the task names.
    expect(open.map((run) => run.run_id)).toEqual(task.current_run_id === null ? [] : [task.current_run_id]);
    expect(task.status === 'running').toBe(task.current_run_id !== null);
  }
}

/** Commands until ten thousand events stand in the log, and now and then the time in which leases run out. */
async function actAtRandom(desk: Desk, seed: number): Promise<void> {
  const world: World = { random: seededRandom(seed), held: [], tasks: 1, acts: 0 };
  await desk.ledger.tasks.create({ taskId: 't-1', title: 'first' });
  for (let round = 0; (await desk.ledger.head()).seq < 10_000; round += 1) {
    await act(desk.ledger, world);
    if (round % 7 === 0) desk.clock.advance(1 + below(world.random, 30_000));
    if (world.held.length > 60) world.held.splice(0, 20);
    if (round % 500 === 0) await releaseExpired(desk.ledger);
  }
}

async function releaseExpired(ledger: Ledger): Promise<void> {
  for (const { task_id, lease } of await ledger.leases.running()) {
    if (lease !== null)
      await ledger.leases.release({ taskId: task_id, runId: lease.run_id, fence: lease.fence });
  }
}

/** Hands a log over as an import does. */
async function copyLog(from: Ledger, to: Ledger): Promise<void> {
  const stored = await collect(from.read());
  for (let start = 0; start < stored.length; start += 500) {
    const exact = stored.slice(start, start + 500);
    const events = exact.map(
      ({ event: { seq: _seq, hash: _hash, epoch: _epoch, recorded_at: _at, ...given } }) => given as NewEvent,
    );
    await to.appendAccepted({ events, exact });
  }
}

describe.each(MANAGING_STORES)('managed tasks on $name', (kind) => {
  test('W3 after ten thousand events of random commands every table equals a replay, and an import of the log gives the same', async () => {
    const desk = await openDesk(kind);
    await actAtRandom(desk, 20_260_301);

    await assertSane(desk);
    expect(await desk.ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
    const types = new Set((await collect(desk.ledger.read())).map((item) => item.event.type));
    expect(types.size).toBeGreaterThan(20);

    const copy = await openDesk(kind);
    await copyLog(desk.ledger, copy.ledger);
    expect((await copy.ledger.head()).hash).toBe((await desk.ledger.head()).hash);
    expect(await copy.ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
    for await (const { row } of desk.ledger.rows.list({})) {
      expect(await copy.ledger.tasks.get(row.task_id)).toEqual(await desk.ledger.tasks.get(row.task_id));
      expect(await copy.row(row.task_id)).toEqual(row.value);
    }
  }, 180_000);
});

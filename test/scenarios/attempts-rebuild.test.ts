import type { Ledger, NewEvent } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import type { Desk } from '../support/managed.ts';
import { MANAGING_STORES, openDesk } from '../support/managed.ts';
import type { World } from '../support/random-commands.ts';
import { act, below } from '../support/random-commands.ts';
import { seededRandom } from '../support/root-random.ts';

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

/** Commands until so many events stand in the log, and now and then the time in which leases run out. */
async function actAtRandom(
  desk: Desk,
  { seed, events }: { readonly seed: number; readonly events: number },
): Promise<void> {
  const world: World = { random: seededRandom(seed), held: [], tasks: 1, acts: 0 };
  await desk.ledger.tasks.create({ taskId: 't-1', title: 'first' });
  for (let round = 0; (await desk.ledger.head()).seq < events; round += 1) {
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
  const many = kind.name === 'postgres' && process.env['CUSTODY_TEST_LONG'] === undefined ? 2_000 : 10_000;

  test(`W3 after ${many} events of random commands every table equals a replay, and an import of the log gives the same`, async () => {
    const desk = await openDesk(kind);
    await actAtRandom(desk, { seed: 20_260_301, events: many });

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

/** Ids that count up, so that two stores give the same ones. */
function countingIds(): { readonly next: () => string; readonly restart: () => void } {
  let count = 0;
  return {
    next: () => {
      count += 1;
      return `id-${count}`;
    },
    restart: () => {
      count = 0;
    },
  };
}

test.each([1, 2, 3])(
  'every store writes the same log, byte for byte, for the same commands (seed %i)',
  async (seed) => {
    const heads: string[] = [];
    for (const kind of MANAGING_STORES) {
      const ids = countingIds();
      const desk = await openDesk(kind, { newId: ids.next });
      // A ledger takes an id for itself when it is made, and one that is used again does not.
      ids.restart();
      await actAtRandom(desk, { seed, events: 1500 });
      heads.push((await desk.ledger.head()).hash);
    }

    expect(heads.length).toBeGreaterThan(1);
    expect(new Set(heads).size).toBe(1);
  },
);

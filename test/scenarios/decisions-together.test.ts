import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MANAGING_STORES, openDesk } from '../support/managed.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { manualClock } from '../support/manual-clock.ts';
import { takeLedger } from '../support/postgres.ts';
import { act, below } from '../support/random-commands.ts';
import type { Random } from '../support/root-random.ts';
import { seededRandom } from '../support/root-random.ts';
import type { TwinStores } from '../support/twin-stores.ts';
import { openTwins } from '../support/twin-stores.ts';

const isLong = (process.env['CUSTODY_TEST_LONG'] ?? '') !== '';

const PLACES = [
  ['sqlite', async () => `sqlite:${join(directory(), 'custody.db')}`, isLong ? 400 : 20],
  [
    'postgres',
    async () => {
      const place = await takeLedger();
      onTestFinished(place.giveBack);
      return place.url;
    },
    isLong ? 100 : 5,
  ],
] as const;

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'custody-together-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** One random history; returns how often decisions were given together. */
async function play(twins: TwinStores, clock: ManualClock, random: Random): Promise<number> {
  const world = { random, held: [], tasks: 0, acts: 0 };
  let groups = 0;
  for (let round = 0; round < 40; round += 1) {
    let open = 1 + below(random, 12);
    const close = () => {
      open -= 1;
    };
    const acts = Array.from({ length: open }, () => act(twins.ledger, world).finally(close));
    while (open > 0) {
      await nextTurn();
      groups += await twins.flush();
    }
    await Promise.all(acts);
    clock.advance(below(random, 4) === 0 ? 1_000_000 : below(random, 3000));
  }
  return groups;
}

describe.each(PLACES)('decisions that share a commit on %s', (_name, placeOf, seeds) => {
  test(`answer, and leave behind, what they would one at a time, in ${seeds} random histories`, async () => {
    for (let seed = 1; seed <= seeds; seed += 1) {
      const clock = manualClock();
      const twins = await openTwins(await placeOf(), clock);

      expect(await play(twins, clock, seededRandom(seed))).toBeGreaterThan(40);

      const [tested, model] = await twins.holdings();
      expect(tested, `seed ${seed}`).toEqual(model);
      expect(await twins.verify(), `seed ${seed}`).toMatchObject({ ok: true, problems: [] });
      await twins.close();
    }
  }, 600_000);

  test('give the first task to the first claim although somebody remarks on it in the same commit', async () => {
    const twins = await openTwins(await placeOf(), manualClock());
    const { ledger } = twins;
    const together = async <T>(acts: Promise<T>): Promise<T> => {
      await nextTurn();
      await twins.flush();
      return acts;
    };
    await together(ledger.tasks.create({ taskId: 't-high', title: 'high', priority: 5 }));
    await together(ledger.tasks.create({ taskId: 't-low', title: 'low' }));

    const [, first, second] = await together(
      Promise.all([
        ledger.tasks.comment({ taskId: 't-high', author: 'ann', body: 'hm' }),
        ledger.runs.claim({ holder: 'w-1' }),
        ledger.runs.claim({ holder: 'w-2' }),
      ]),
    );

    expect([first, second]).toMatchObject([
      { outcome: 'claimed', task_id: 't-high' },
      { outcome: 'claimed', task_id: 't-low' },
    ]);
    await twins.close();
  });
});

describe.each(MANAGING_STORES)('decisions made in one tick, on $name', (kind) => {
  test('a child is claimed behind the completion of its parent, although both share a commit', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    await ledger.tasks.create({ taskId: 't-1', title: 'first' });
    await ledger.tasks.create({ taskId: 't-2', title: 'second', parents: ['t-1'] });
    const run = await desk.claim('t-1');

    const [done, next] = await Promise.all([
      ledger.runs.complete({ taskId: 't-1', runId: run.run_id, fence: run.fence, result: 'x' }),
      ledger.runs.claim({ holder: 'w-2' }),
    ]);

    expect(done).toMatchObject({ outcome: 'completed' });
    expect(next).toMatchObject({ outcome: 'claimed', task_id: 't-2' });
  });

  test('a task that is made and one that is waited for are claimed in the order of their priorities', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    await ledger.tasks.create({ taskId: 't-low', title: 'low' });

    const [, first, second, third] = await Promise.all([
      ledger.tasks.create({ taskId: 't-high', title: 'high', priority: 5 }),
      ledger.runs.claim({ holder: 'w-1' }),
      ledger.runs.claim({ holder: 'w-2' }),
      ledger.runs.claim({ holder: 'w-3' }),
    ]);

    expect([first, second, third]).toMatchObject([
      { outcome: 'claimed', task_id: 't-high' },
      { outcome: 'claimed', task_id: 't-low' },
      { outcome: 'none', reason: 'nothing_claimable' },
    ]);
  });

  test('claims that share a commit never take one task twice', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    for (const taskId of ['t-1', 't-2', 't-3']) await ledger.tasks.create({ taskId, title: 'work' });

    const claims = await Promise.all(
      Array.from({ length: 5 }, (_, index) => ledger.runs.claim({ holder: `w-${index}` })),
    );

    const taken = claims.map((claim) => (claim.outcome === 'claimed' ? claim.task_id : claim.outcome));
    expect(taken).toEqual(['t-1', 't-2', 't-3', 'none', 'none']);
    expect(await desk.events('t-1', 'run.started')).toHaveLength(1);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });

  test('a task that is cancelled is not completed behind it, although both share a commit', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    await ledger.tasks.create({ taskId: 't-1', title: 'work' });
    const run = await desk.claim('t-1');

    const [cancelled, completed] = await Promise.all([
      ledger.tasks.cancel({ taskId: 't-1' }),
      ledger.runs.complete({ taskId: 't-1', runId: run.run_id, fence: run.fence, result: 'late' }),
    ]);

    expect(cancelled).toMatchObject({ outcome: 'cancelled', status: 'cancelled' });
    expect(completed.outcome).not.toBe('completed');
    expect((await desk.task('t-1')).status).toBe('cancelled');
    expect(await desk.events('t-1', 'task.completed')).toEqual([]);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });

  test('a claim that is asked for twice by one id is granted once, although both share a commit', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    for (const taskId of ['t-1', 't-2']) await ledger.tasks.create({ taskId, title: 'work' });
    const claim = () => ledger.once('request-1').runs.claim({ holder: 'worker' });

    const [first, second] = await Promise.all([claim(), claim()]);

    expect(first).toMatchObject({ outcome: 'claimed', task_id: 't-1' });
    expect(second).toEqual(first);
    expect((await desk.task('t-2')).status).toBe('ready');
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });

  test('what no event can hold is refused alone, and its neighbours stand', async () => {
    const desk = await openDesk(kind);
    const { ledger } = desk;
    for (const taskId of ['t-1', 't-2', 't-3']) await ledger.tasks.create({ taskId, title: 'work' });
    const runs = [await desk.claim('t-1'), await desk.claim('t-2'), await desk.claim('t-3')];

    const [first, bad, last] = await Promise.allSettled(
      runs.map((run, index) =>
        ledger.runs.complete({
          taskId: run.task_id,
          runId: run.run_id,
          fence: run.fence,
          result: index === 1 ? 'x'.repeat(1_200_000) : 'fine',
        }),
      ),
    );

    expect(bad).toMatchObject({ status: 'rejected', reason: { code: 'event_too_large' } });
    expect([first, last]).toMatchObject([
      { status: 'fulfilled', value: { outcome: 'completed' } },
      { status: 'fulfilled', value: { outcome: 'completed' } },
    ]);
    expect((await desk.task('t-2')).status).toBe('running');
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });
});

import type { PassLog, Wait } from '@custody/reconciler';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { DURABLE_STORES, STORES } from '../contract/stores.ts';
import { settled, started } from '../support/events.ts';
import { manualClock } from '../support/manual-clock.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

/** A log that keeps what it is told, and a promise for each message. */
function listeningLog() {
  const told: string[] = [];
  const waiting: { message: string; resolve: () => void }[] = [];
  const tell = (_facts: object, message: string) => {
    told.push(message);
    for (const item of waiting.splice(0)) {
      if (message.includes(item.message)) item.resolve();
      else waiting.push(item);
    }
  };
  const log: PassLog = { info: tell, warn: tell, error: tell };
  return {
    log,
    told,
    heard: (message: string) => new Promise<void>((resolve) => waiting.push({ message, resolve })),
  };
}

/** A timer that waits until it is released by hand; the span that was asked for tells who waits. */
function manualTimer() {
  const waits: { milliseconds: number; release: () => void }[] = [];
  const wait: Wait = (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      waits.push({ milliseconds, release: resolve });
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  const release = (milliseconds: number) => {
    const index = waits.findIndex((item) => item.milliseconds === milliseconds);
    const [item] = index < 0 ? [] : waits.splice(index, 1);
    item?.release();
    return item !== undefined;
  };
  return { wait, release };
}

const TICK = 60_000;

describe.each(STORES)('the loop on $name', (kind) => {
  test('backfills first, sweeps at each tick, and stops at once when it is told to', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1'), settled('run-1')]);
    await putRow(ledger, failedRow('t-1', ['run-1']));
    const { log, told, heard } = listeningLog();
    const timer = manualTimer();
    const stop = new AbortController();
    const clock = manualClock();
    const reconciler = createReconciler({ ...ledger, clock }, { wait: timer.wait });

    const swept = heard('sweep');
    const running = reconciler.run({ every: TICK, signal: stop.signal, log });
    await swept;
    expect(told).toEqual(['leading', 'backfill', 'sweep']);
    expect(await listOf(ledger, 't-1')).toEqual([]);

    await ledger.append([started('run-2', 't-2'), settled('run-2')]);
    await putRow(ledger, failedRow('t-2', ['run-2']));
    const again = heard('sweep');
    while (!timer.release(TICK)) await new Promise((resolve) => setImmediate(resolve));
    await again;
    expect(await listOf(ledger, 't-2')).toEqual([]);

    stop.abort();
    await running;
    expect(told).toEqual(['leading', 'backfill', 'sweep', 'sweep']);
  });

  test('a single run does one backfill and one sweep, and gives leadership back', async () => {
    const { ledger } = await kind.open();
    const { log, told } = listeningLog();

    await createReconciler(ledger, { holder: 'a' }).run({ once: true, log });
    await createReconciler(ledger, { holder: 'b' }).run({ once: true, log });

    expect(told).toEqual(['leading', 'backfill', 'sweep', 'leading', 'backfill', 'sweep']);
  });

  test('who does not lead does nothing', async () => {
    const { ledger } = await kind.open();
    await ledger.leaders.tryLead('reconciler', 'somebody else', 600_000);
    const { log, told } = listeningLog();

    await createReconciler(ledger).run({ once: true, log });

    expect(told).toEqual(['another process leads; nothing to do']);
  });

  test('a standby takes over when the leader has died', async () => {
    const clock = manualClock();
    const { ledger } = await kind.open({ clock });
    await ledger.leaders.tryLead('reconciler', 'dead', 10_000);
    const { log, told, heard } = listeningLog();
    const timer = manualTimer();
    const stop = new AbortController();

    const swept = heard('sweep');
    const running = createReconciler(ledger, { wait: timer.wait }).run({
      every: TICK,
      signal: stop.signal,
      log,
    });
    while (!timer.release(10_000 / 3)) await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual([]);

    clock.advance(10_001);
    while (!timer.release(10_000 / 3)) await new Promise((resolve) => setImmediate(resolve));
    await swept;
    stop.abort();
    await running;
    expect(told).toEqual(['leading', 'backfill', 'sweep']);
  });

  test.each([
    [{}],
    [{ every: '30s', cron: '* * * * *' }],
    [{ every: 'soon' }],
    [{ every: '0s' }],
    [{ cron: 'never' }],
  ])('refuses the schedule %j', async (schedule) => {
    const { ledger } = await kind.open();

    await expect(createReconciler(ledger).run(schedule)).rejects.toMatchObject({ code: 'invalid_option' });
  });
});

describe.each(DURABLE_STORES)('two loops on one $name', (kind) => {
  test('only one of them leads at a time', async () => {
    const store = await kind.open();
    const other = await store.another();
    const first = await store.ledger.leaders.tryLead('reconciler', 'a', 10_000);
    const second = await other.leaders.tryLead('reconciler', 'b', 10_000);

    expect(first).toMatchObject({ outcome: 'leading', fence: 1 });
    expect(second).toMatchObject({ outcome: 'held', holder: 'a' });
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { countFigures } from '../support/figures.ts';
import type { LoadProcess } from '../support/load-process.ts';
import { startLoad } from '../support/load-process.ts';
import type { ListeningProcess, Pair } from '../support/served-pair.ts';
import { carriedOut, failoverBy, get, put, startPair } from '../support/served-pair.ts';
import { SERVED_STORES } from '../support/served-stores.ts';

describe.each(SERVED_STORES)('writes during a failover on $name', ({ url }) => {
  test('T7 of 200 PUTs a second every one that was answered 204 is readable, and the rest got 502 or 503', async () => {
    const pair = await startPair(await url());
    const answers = new Map<string, number>();
    const pending: Promise<void>[] = [];
    let sent = 0;
    const timer = setInterval(() => {
      const id = `r-${sent}`;
      sent += 1;
      pending.push(
        put(pair.proxy.url, id, `text of ${id}`).then((status) => {
          answers.set(id, status);
        }),
      );
    }, 5);

    await expect.poll(() => [...answers.values()].includes(204)).toBe(true);
    await sleep(500);
    await pair.primary.kill();
    carriedOut(await pair.failover('promote', '--mark-failed'));
    const from = sent;
    await expect.poll(() => answers.get(`r-${from + 100}`), { timeout: 30_000 }).toBe(204);
    clearInterval(timer);
    await Promise.all(pending);

    const statuses = [...answers.values()];
    expect(statuses.filter((status) => ![204, 502, 503].includes(status))).toEqual([]);
    // The failover fell into the load: some were answered before it, some got lost in it, some came after it.
    expect(statuses.filter((status) => status === 204).length).toBeGreaterThan(100);
    expect(statuses).toContain(502);
    const taken = [...answers].filter(([, status]) => status === 204).map(([id]) => id);
    const read = await readAll(pair.proxy.url, taken);
    expect(taken.filter((id) => read.get(id) !== `text of ${id}`)).toEqual([]);
  });
});

const IS_LONG = process.env['CUSTODY_TEST_LONG'] !== undefined;
const LOAD = IS_LONG
  ? { seconds: 600, everySeconds: 20, atLeast: 8, timeoutMs: 1_200_000 }
  : { seconds: 20, everySeconds: 5, atLeast: 2, timeoutMs: 180_000 };

describe.each(SERVED_STORES)('mixed load on $name', ({ url }) => {
  test(`P1 and P10: ${LOAD.seconds} s of records, events, claims and submits from four processes, with a failover every ${LOAD.everySeconds} s, lose and double nothing`, {
    timeout: LOAD.timeoutMs,
  }, async () => {
    const pair = await startPair(await url());
    const clients = await Promise.all(['a', 'b', 'c', 'd'].map((name) => startLoad(pair.proxy.url, name)));
    const failovers = await failOverAgainAndAgain(pair);
    await Promise.all(clients.map((client) => client.stop()));

    const acknowledged = await expectNothingLost(pair, clients);
    if (IS_LONG) process.stderr.write(`${JSON.stringify({ ...acknowledged, failovers })}\n`);
    const killed = failovers.filter(({ how }) => how !== 'paused');
    countFigures('kills', [['primaries under load', killed.length]]);
    // Fewer than the time allows: one that waits for a lock takes longer.
    expect(failovers.length).toBeGreaterThanOrEqual(LOAD.atLeast);
  });
});

/** The exit code when somebody holds the write lock. */
const BUSY = 4;

/** What one failover was like. */
interface Failover {
  /** The old primary was killed, or paused and cut off; one that held the lock of a file had to be killed then. */
  readonly how: 'killed' | 'paused' | 'paused with the write lock';
  /** From the loss of the primary to the end of the command, in milliseconds. */
  readonly ms: number;
}

/** Takes the primary away until the time is over, in turn by a kill and by a pause, and starts a new standby each time. */
async function failOverAgainAndAgain(pair: Pair): Promise<readonly Failover[]> {
  const end = performance.now() + LOAD.seconds * 1000;
  const done: Failover[] = [];
  let [primary, standby]: readonly [ListeningProcess, ListeningProcess] = [pair.primary, pair.replica];
  while (performance.now() + LOAD.everySeconds * 1000 < end) {
    await sleep(LOAD.everySeconds * 1000);
    let how: Failover['how'] = done.length % 2 === 0 ? 'killed' : 'paused';
    const lostAt = performance.now();
    if (how === 'killed') await primary.kill();
    else primary.child.kill('SIGSTOP');
    const ends = ['--old', primary.url, '--new', standby.url, '--public', pair.proxy.url];
    const command = ['promote', ...ends, '--mark-failed', '--force-fence'];
    let outcome = await failoverBy(pair, command);
    if (outcome.code === BUSY && how === 'paused') {
      how = 'paused with the write lock';
      await primary.kill();
      outcome = await failoverBy(pair, command);
    }
    const report = carriedOut(outcome);
    done.push({ how, ms: Math.round(performance.now() - lostAt) });
    expect(report.epoch).toBe(done.length + 1);
    // One that was only paused wakes up to clients that still wait for it; all of them must be told no.
    primary.child.kill('SIGCONT');
    const next = await pair.startNode(`node-${done.length}`);
    const last = primary;
    void sleep(2000).then(() => last.kill());
    [primary, standby] = [standby, next];
  }
  await sleep(Math.max(0, end - performance.now()));
  return done;
}

/** Everything that was acknowledged is there, and everything that is there is there once. */
async function expectNothingLost(pair: Pair, clients: readonly LoadProcess[]): Promise<object> {
  const told = clients.map((client) => client.acknowledged);
  expect(told.flatMap(({ faults }) => faults)).toEqual([]);
  const records = new Map(told.flatMap((one) => [...one.records]));
  const submits = new Map(told.flatMap((one) => [...one.submits]));
  const events = told.flatMap((one) => one.events);
  const completed = told.flatMap((one) => one.completed);
  for (const size of [records.size, submits.size, events.length, completed.length])
    expect(size).toBeGreaterThan(20);

  const read = await readAll(pair.proxy.url, [...records.keys()]);
  expect([...records].filter(([id, text]) => read.get(id) !== text)).toEqual([]);

  await using ledger = await openLedger(pair.store);
  const stored = await fieldsOf(ledger, 'x.load', 'id');
  expectEach(stored, events);
  expectEach(await fieldsOf(ledger, 'run.submitted', 'idempotency_key'), [...submits.keys()]);
  expectEach(await fieldsOf(ledger, 'task.completed', 'task_id'), completed);
  const values = await collect(ledger.read({ type: 'run.submitted' }));
  const wrong = values.filter(
    ({ event }) =>
      submits.has(String(event['idempotency_key'])) &&
      submits.get(String(event['idempotency_key'])) !== event['value'],
  );
  expect(wrong).toEqual([]);
  expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  const again = new Map<string, number>();
  for (const [why, count] of told.flatMap((one) => [...one.again]))
    again.set(why, (again.get(why) ?? 0) + count);
  return {
    records: records.size,
    events: events.length,
    submits: submits.size,
    completed: completed.length,
    again: Object.fromEntries(again),
  };
}

/** Each of the acknowledged is stored, and nothing is stored twice. */
function expectEach(stored: readonly string[], acknowledged: readonly string[]): void {
  const known = new Set(stored);
  expect(acknowledged.filter((id) => !known.has(id))).toEqual([]);
  expect(stored.length).toBe(known.size);
}

async function fieldsOf(ledger: Ledger, type: string, field: string): Promise<readonly string[]> {
  const events = await collect(ledger.read({ type }));
  return events.map(({ event }) => String(event[field]));
}

async function readAll(base: string, ids: readonly string[]): Promise<ReadonlyMap<string, string | number>> {
  const read = new Map<string, string | number>();
  for (let at = 0; at < ids.length; at += 20)
    await Promise.all(ids.slice(at, at + 20).map(async (id) => read.set(id, await get(base, id))));
  return read;
}

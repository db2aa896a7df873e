import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { describe, expect, it, onTestFinished } from 'vitest';
import { started } from '../support/events.ts';
import { plainSession, takeLedger } from '../support/postgres.ts';

/** Two handles on one ledger, and how many sessions of theirs listen. */
async function twoHandles(more = '') {
  const place = await takeLedger();
  onTestFinished(place.giveBack);
  const application = `custody-${String(new URL(place.url).searchParams.get('ledger'))}`;
  const open = async (): Promise<Ledger> => {
    const ledger = await openLedger(`${place.url}&application_name=${application}${more}`);
    onTestFinished(() => ledger.close());
    return ledger;
  };
  const sql = await plainSession();
  const listeners = async () =>
    (
      await sql.query<{ pid: number }>(
        `select pid from pg_stat_activity where application_name = $1 and query like 'listen %'`,
        [application],
      )
    ).rows.map(({ pid }) => pid);
  return { here: await open(), there: await open(), sql, listeners };
}

/** Waits until as many sessions listen. */
async function listening(listeners: () => Promise<readonly number[]>, count: number) {
  for (;;) {
    const pids = await listeners();
    if (pids.length === count) return pids;
  }
}

/** Begins to wait for the next commit; tells how long it took, in milliseconds. */
async function waitOn(ledger: Ledger, atMostMs = 10_000) {
  const { commits } = ledger;
  if (commits === null) throw new Error('the store tells of no commits');
  const mark = await commits.mark();
  const began = performance.now();
  return { told: commits.after(mark, { atMostMs }).then(() => performance.now() - began) };
}

describe('who waits for a commit in PostgreSQL', () => {
  it('is woken by one in another handle, on one connection however many wait, and only while somebody does', async () => {
    const { here, there, listeners } = await twoHandles();
    expect(await listeners()).toEqual([]);

    const first = await waitOn(here);
    const second = await waitOn(here);
    await listening(listeners, 1);
    await there.append([started('run-1', 't-1')]);
    await Promise.all([first.told, second.told]);

    await listening(listeners, 0);
  });

  it('is woken although the message is lost, by a look', async () => {
    const { here, there, listeners } = await twoHandles('&listen=off');

    const { told } = await waitOn(here);
    await there.append([started('run-1', 't-1')]);

    expect(await told).toBeLessThan(5_000);
    expect(await listeners()).toEqual([]);
  });

  it('connects again after its connection was lost', async () => {
    const { here, there, sql, listeners } = await twoHandles();
    const first = await waitOn(here);
    const [pid] = await listening(listeners, 1);

    await sql.query('select pg_terminate_backend($1)', [pid]);

    const again = await listening(async () => (await listeners()).filter((other) => other !== pid), 1);
    expect(again).toHaveLength(1);
    await there.append([started('run-1', 't-1')]);
    await first.told;
  });

  it('is told when the time is over, and when it is sent away', async () => {
    const { here } = await twoHandles();
    const { commits } = here;
    const mark = (await commits?.mark()) ?? 0;
    const leave = new AbortController();
    const waiting = commits?.after(mark, { signal: leave.signal, atMostMs: 60_000 });
    leave.abort(new Error('closing time'));

    await expect(waiting).rejects.toThrow('closing time');
    await commits?.after(mark, { atMostMs: 50 });
  });
});

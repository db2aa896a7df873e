import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import type pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { collect } from '../support/collect.ts';
import { settled, started } from '../support/events.ts';
import { plainSession, takeLedger } from '../support/postgres.ts';
import type { PostgresProxy } from '../support/postgres-proxy.ts';
import { postgresProxy } from '../support/postgres-proxy.ts';
import { rowOf } from '../support/row.ts';

/** A ledger that is reached through a way that can be cut. */
async function behindProxy(more = ''): Promise<{ ledger: Ledger; proxy: PostgresProxy; url: string }> {
  const place = await takeLedger();
  onTestFinished(place.giveBack);
  const proxy = await postgresProxy(place.url);
  const ledger = await openLedger(proxy.url + more);
  onTestFinished(() => ledger.close());
  return { ledger, proxy, url: place.url };
}

describe.each(['before_commit', 'after_commit'] as const)('a connection that is lost %s', (at) => {
  it('does not lose an append, does not repeat it, and tells what it would have told', async () => {
    const { ledger, proxy } = await behindProxy();
    await ledger.append([{ ...started('run-0', 't-0'), id: 'e-0' }]);
    proxy.cutNext(at);

    // Without ids of their own: nothing but the store could tell two of them apart.
    const answer = await ledger.append([started('run-1', 't-1'), settled('run-1')]);

    expect(proxy.cuts).toBe(1);
    expect(answer.events).toMatchObject([
      { seq: 2, duplicate: false },
      { seq: 3, duplicate: false },
    ]);
    expect((await collect(ledger.read())).map(({ event }) => event.id)).toEqual([
      'e-0',
      ...answer.events.map(({ id }) => id),
    ]);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, events: 3 });
  });

  it('finds its append although another writer came in between', async () => {
    const { ledger, proxy, url } = await behindProxy();
    await using other = await openLedger(url);
    await ledger.append([started('run-0', 't-0')]);
    proxy.cutNext(at);

    const answers = await Promise.all([
      ledger.append([{ ...started('run-1', 't-1'), id: 'mine' }]),
      other.append([{ ...started('run-2', 't-2'), id: 'theirs' }]),
    ]);

    expect(proxy.cuts).toBe(1);
    expect(answers.map(({ events }) => events[0]?.duplicate)).toEqual([false, false]);
    const stored = (await collect(ledger.read())).map(({ event }) => [event.id, event.seq]);
    expect(stored).toEqual(
      expect.arrayContaining(answers.map(({ events }) => [events[0]?.id, events[0]?.seq])),
    );
    expect(stored).toHaveLength(3);
  });

  it('does not claim, complete or create twice', async () => {
    const { ledger, proxy } = await behindProxy();
    for (const id of ['a', 'b']) await ledger.tasks.create({ taskId: id, title: id });

    proxy.cutNext(at);
    const created = await ledger.tasks.create({ taskId: 'c', title: 'c' });
    proxy.cutNext(at);
    const run = await ledger.runs.claim({ holder: 'worker' });
    if (run.outcome !== 'claimed') throw new Error('nothing was claimed');
    proxy.cutNext(at);
    const done = await ledger.runs.complete({
      taskId: run.task_id,
      runId: run.run_id,
      fence: run.fence,
      result: 'done',
    });
    proxy.cutNext(at);
    const raised = await ledger.raiseEpoch('test');

    expect(proxy.cuts).toBe(4);
    expect([created.outcome, run.task_id, done.outcome, raised.epoch]).toEqual([
      'created',
      'a',
      'completed',
      2,
    ]);
    const types = (await collect(ledger.read())).map(({ event }) => event.type);
    expect(types.filter((type) => type === 'run.started')).toHaveLength(1);
    expect(types.filter((type) => type === 'ledger.epoch_raised')).toHaveLength(1);
    expect(await ledger.leases.running()).toEqual([]);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });

  it('is harmless to what writes no event: rows, documents, signs of life, leadership', async () => {
    const { ledger, proxy } = await behindProxy();
    await ledger.tasks.create({ taskId: 'a', title: 'a' });
    const run = await ledger.runs.claim({ holder: 'worker' });
    if (run.outcome !== 'claimed') throw new Error('nothing was claimed');

    proxy.cutNext(at);
    await ledger.rows.put([rowOf('t-1', { status: 'running' })]);
    proxy.cutNext(at);
    await ledger.state.save('cursor', { offset: 3 });
    proxy.cutNext(at);
    const beat = await ledger.runs.heartbeat({ runId: run.run_id, fence: run.fence });
    proxy.cutNext(at);
    const led = await ledger.leaders.tryLead('reconciler', 'me', 10_000);

    expect(proxy.cuts).toBe(4);
    expect((await ledger.rows.load('t-1'))?.version).toBe('1');
    expect(await ledger.state.load('cursor')).toEqual({ offset: 3 });
    expect([beat.outcome, led]).toMatchObject(['extended', { outcome: 'leading', fence: 1 }]);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });
});

/** Resolves as soon as another session waits for something that this one holds. */
async function waiterOf(session: pg.Client): Promise<void> {
  for (;;) {
    const { rowCount } = await session.query(
      'select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))',
    );
    if (rowCount !== 0) return;
  }
}

describe('a lock that somebody keeps', () => {
  it('is waited for as long as the URL says, then the store is busy, and nothing was written', async () => {
    const { ledger, url } = await behindProxy('&lock_timeout=200');
    const { schema, ledger: name } = Object.fromEntries(new URL(url).searchParams);
    const session = await plainSession();
    await session.query(`begin; select from ${schema}.ledger_head where ledger = '${name}' for update`);

    await expect(ledger.append([started('run-1', 't-1')])).rejects.toMatchObject({
      code: 'busy',
      facts: { sqlstate: '55P03' },
    });
    // Readers never wait for it.
    expect(await ledger.head()).toMatchObject({ seq: 0 });
    await session.query('rollback');

    await ledger.append([started('run-1', 't-1')]);
    expect(await ledger.head()).toMatchObject({ seq: 1 });
  });

  it('a deadlock that the database breaks is tried again', async () => {
    const { ledger, url } = await behindProxy();
    const { schema, ledger: name } = Object.fromEntries(new URL(url).searchParams);
    await ledger.rows.put([rowOf('t-1', { status: 'running' })]);
    const session = await plainSession();
    await session.query(`begin; set local deadlock_timeout = '10min';
      update ${schema}.task_row__${name} set needs_check = 1`);

    const appending = ledger.rows.put([rowOf('t-1', { status: 'running', note: 'x' })]);
    // It has the head by now, and waits for the row; the session waits for the head: the database gives up one of them.
    await waiterOf(session);
    await session.query(`select from ${schema}.ledger_head where ledger = '${name}' for update`);
    await session.query('rollback');

    expect(await appending).toMatchObject([{ outcome: 'written' }]);
    expect((await ledger.rows.load('t-1'))?.version).toBe('2');
  });
});

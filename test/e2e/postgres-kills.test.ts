import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAppending } from '../support/append-process.ts';
import { collect } from '../support/collect.ts';
import { countKills } from '../support/figures.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { startPostgres } from '../support/postgres-server.ts';

const KILLS = 10;

/** Appends of each process between two kills. */
const BETWEEN = 60;

describe('a server that is killed under load and comes back', () => {
  let server: PostgresServer;

  beforeAll(async () => {
    server = await startPostgres();
  });

  afterAll(async () => {
    await server.stop();
  });

  /** Creates, claims and completes one task after the other; each must be told what happened, once. */
  async function work(ledger: Ledger, stop: AbortSignal): Promise<number> {
    for (let index = 0; ; index += 1) {
      if (stop.aborted) return index;
      const taskId = `m-${index}`;
      const created = await ledger.tasks.create({ taskId, title: 'work' });
      const run = await ledger.runs.claim({ holder: 'worker' });
      expect([created.outcome, run.outcome]).toEqual(['created', 'claimed']);
      if (run.outcome !== 'claimed') return index;
      const done = await ledger.runs.complete({
        taskId: run.task_id,
        runId: run.run_id,
        fence: run.fence,
        result: index,
      });
      expect([run.task_id, done.outcome]).toEqual([taskId, 'completed']);
    }
  }

  it(`P1, P10: ${KILLS} times nothing acknowledged is lost and nothing is applied twice`, async () => {
    await using ledger = await openLedger(server.url);
    const processes = ['a', 'b', 'c'].map((name) =>
      startAppending(server.url, name, { events: 0, width: 8 }),
    );
    await Promise.all(processes.map(({ ready }) => ready));
    const stop = new AbortController();
    for (const process of processes) process.go();
    const working = work(ledger, stop.signal);

    for (let round = 1; round <= KILLS; round += 1) {
      await Promise.all(processes.map((process) => process.reached(process.acknowledged.size + BETWEEN)));
      await server.kill();
      await server.restart();
    }
    await Promise.all(processes.map((process) => process.reached(process.acknowledged.size + BETWEEN)));
    stop.abort();
    const tasks = await working;
    await Promise.all(processes.map((process) => process.kill()));

    const stored = await collect(ledger.read());
    const seqs = new Map(stored.map(({ event }) => [event.id, event.seq]));
    expect(seqs.size).toBe(stored.length);
    const lost = processes.flatMap(({ acknowledged }) =>
      [...acknowledged].filter(([id, seq]) => seqs.get(id) !== seq),
    );
    countKills('PostgreSQL servers', KILLS, lost.length);
    expect(lost).toEqual([]);
    expect(tasks).toBeGreaterThan(KILLS);
    for (const type of ['task.created', 'task.completed'])
      expect(stored.filter(({ event }) => event.type === type)).toHaveLength(tasks);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  });
});

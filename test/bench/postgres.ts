import { openLedger } from '@custody/ledger';
import type { PostgresServer } from '../support/postgres-server.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { claimAll, runWorkers } from './claims.ts';
import { loadPeers } from './peers.ts';
import type { Comparison } from './round.ts';
import { timed } from './round.ts';
import { eventAt } from './workload.ts';

const DURABILITY = 'one server, fsync=on, synchronous_commit=on for both sides';

/** Clients that work at the same time. */
const CONCURRENCY = 16;

let server: Promise<PostgresServer> | null = null;
let schemas = 0;

/** A PostgreSQL of the bench's own, started when a comparison first asks for it. */
function theServer(): Promise<PostgresServer> {
  server ??= startPostgres({ fsync: true });
  return server;
}

/** Ends the server, if one was started. */
export async function stopServer(): Promise<void> {
  await (await server)?.stop();
}

async function freshSchema(): Promise<{ readonly url: string; readonly schema: string }> {
  schemas += 1;
  return { url: (await theServer()).url, schema: `bench_${schemas}` };
}

/** Claims and completes against pg-boss, which fetches and completes. */
export function pgBossClaims(count: number): Comparison {
  return {
    ...claims(count),
    note: `${CONCURRENCY} workers on each side, a task at a time; custody keeps a history, fences and results, the peer a table of jobs`,
    bound: { name: 'pg-boss', run: () => bossClaims(count) },
  };
}

/** Claims and completes against graphile-worker, which runs its own loop. */
export function graphileClaims(count: number): Comparison {
  return {
    ...claims(count),
    atLeast: null,
    note: `the peer runs its own pool of ${CONCURRENCY} workers over empty tasks: it has no claim that a program could call; it deletes what is done`,
    bound: { name: 'graphile-worker', run: () => graphileRun(count) },
  };
}

/** Appends by many clients against a bound of 15,000 events a second. */
export function concurrentAppends(count: number): Comparison {
  return {
    name: `append, ${CONCURRENCY} clients at a time, PostgreSQL`,
    units: count,
    unit: 'events',
    atLeast: 1,
    durability: 'fsync=on, synchronous_commit=on',
    note: `the bound is the budget itself; each client appends 10 events a request, and appends that wait share a commit`,
    ours: { name: 'custody', run: () => appends(count) },
    bound: { name: '15,000 events/s', run: async () => (count / 15_000) * 1000 },
  };
}

function claims(count: number): Omit<Comparison, 'bound' | 'note'> {
  return {
    name: 'claim + complete, PostgreSQL',
    units: count,
    unit: 'tasks',
    atLeast: 1,
    durability: DURABILITY,
    ours: { name: 'custody', run: () => custodyClaims(count) },
  };
}

async function custodyClaims(count: number): Promise<number> {
  const { url, schema } = await freshSchema();
  return claimAll(`${url}?schema=${schema}&ledger=main`, { count, workers: CONCURRENCY });
}

async function bossClaims(count: number): Promise<number> {
  const { PgBoss } = await (await loadPeers()).pgBoss();
  const { url: connectionString, schema } = await freshSchema();
  const boss = new PgBoss({ connectionString, schema, max: CONCURRENCY, supervise: false, schedule: false });
  boss.on('error', (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue('work');
  await boss.insert(
    'work',
    Array.from({ length: count }, (_, index) => ({ data: { title: `task ${index}` } })),
  );
  let done = 0;
  const elapsed = await timed(() =>
    runWorkers(CONCURRENCY, async () => {
      const [job] = (await boss.fetch('work')) ?? [];
      if (job === undefined) return false;
      await boss.complete('work', job.id);
      done += 1;
      return true;
    }),
  );
  await boss.stop({ graceful: false });
  return checked(elapsed, done, count);
}

async function graphileRun(count: number): Promise<number> {
  const { makeWorkerUtils, runOnce, Logger } = await (await loadPeers()).graphileWorker();
  const { url: connectionString, schema } = await freshSchema();
  const logger = new Logger(() => () => undefined);
  const options = { connectionString, schema, logger };
  const utils = await makeWorkerUtils(options);
  await utils.migrate();
  await utils.addJobs(
    Array.from({ length: count }, (_, index) => ({
      identifier: 'work',
      payload: { title: `task ${index}` },
    })),
  );
  await utils.release();
  let done = 0;
  const work = () => {
    done += 1;
  };
  const elapsed = await timed(() =>
    runOnce({ ...options, concurrency: CONCURRENCY, maxPoolSize: CONCURRENCY, taskList: { work } }),
  );
  return checked(elapsed, done, count);
}

async function appends(count: number): Promise<number> {
  const { url, schema } = await freshSchema();
  const ledger = await openLedger(`${url}?schema=${schema}&ledger=main`);
  let next = 0;
  const elapsed = await timed(() =>
    runWorkers(CONCURRENCY, async () => {
      if (next >= count) return false;
      const start = next;
      next += 10;
      await ledger.append(Array.from({ length: 10 }, (_, index) => eventAt(start + index)));
      return true;
    }),
  );
  const { seq } = await ledger.head();
  await ledger.close();
  return checked(elapsed, seq, count);
}

/** A side that did less than its work has no time. */
function checked(elapsed: number, done: number, count: number): number {
  if (done !== count) throw new Error(`${done} of ${count} were done`);
  return elapsed;
}

import { openLedger } from '@custody/ledger';
import Database from 'better-sqlite3';
import { loadPeers } from './peers.ts';
import type { Comparison } from './round.ts';
import { timed } from './round.ts';
import { freshFile } from './workload.ts';

/** Claims and completes tasks, against a job queue on the same database. */
export function sqliteClaims(
  directory: string,
  { count, workers }: { readonly count: number; readonly workers: number },
): Comparison {
  return {
    name: `claim + complete, ${workers === 1 ? 'one worker' : `${workers} workers in one process`}`,
    units: count,
    unit: 'tasks',
    atLeast: workers === 1 ? null : 1,
    durability: 'WAL, synchronous=FULL on both sides (plainjob sets NORMAL; the bench sets it back)',
    note: 'a task at a time for each worker; decisions of custody that wait share a commit, the peer blocks its thread and commits each step; it keeps no history, no fence, no result',
    ours: { name: 'custody', run: () => custodyClaims(directory, { count, workers }) },
    bound: { name: 'plainjob', run: () => plainjobClaims(directory, { count, workers }) },
  };
}

/** Runs so many workers, each until there is nothing left to do. */
export async function runWorkers(workers: number, work: () => Promise<boolean>): Promise<void> {
  const one = async () => {
    while (await work());
  };
  await Promise.all(Array.from({ length: workers }, one));
}

interface Work {
  readonly count: number;
  readonly workers: number;
}

/** Makes so many tasks on a new ledger and has workers claim and complete all of them; the time of the latter, in ms. */
export async function claimAll(url: string, { count, workers }: Work): Promise<number> {
  const ledger = await openLedger(url);
  await Promise.all(
    Array.from({ length: count }, (_, index) =>
      ledger.tasks.create({ taskId: `task-${index}`, title: 'a task' }),
    ),
  );
  let done = 0;
  const elapsed = await timed(() =>
    runWorkers(workers, async () => {
      const claimed = await ledger.runs.claim({ holder: 'worker' });
      if (claimed.outcome !== 'claimed') return false;
      const { task_id: taskId, run_id: runId, fence } = claimed;
      const end = await ledger.runs.complete({ taskId, runId, fence, result: 'done' });
      if (end.outcome !== 'completed') throw new Error(`a task was not completed: ${end.outcome}`);
      done += 1;
      return true;
    }),
  );
  await ledger.close();
  if (done !== count) throw new Error(`${done} of ${count} were done`);
  return elapsed;
}

async function custodyClaims(directory: string, { count, workers }: Work): Promise<number> {
  return claimAll(`sqlite:${freshFile(directory, 'claim')}`, { count, workers });
}

async function plainjobClaims(directory: string, { count, workers }: Work): Promise<number> {
  const { better, defineQueue } = await (await loadPeers()).plainjob();
  const connection = better(new Database(freshFile(directory, 'plainjob')));
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const queue = defineQueue({ connection, logger: silent });
  for (let index = 0; index < count; index += 1) queue.add('work', { title: 'a task' });
  connection.pragma('synchronous = FULL');
  let done = 0;
  const elapsed = await timed(() =>
    runWorkers(workers, async () => {
      const job = queue.getAndMarkJobAsProcessing('work');
      if (job === undefined) return false;
      queue.getJobById(job.id);
      queue.markJobAsDone(job.id);
      done += 1;
      return true;
    }),
  );
  queue.close();
  if (done !== count) throw new Error(`${done} of ${count} were done`);
  return elapsed;
}

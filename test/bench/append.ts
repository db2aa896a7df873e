import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { openLedger } from '@custody/ledger';
import Database from 'better-sqlite3';
import type { Comparison } from './round.ts';
import { timed } from './round.ts';
import { eventAt, eventsFrom, freshFile } from './workload.ts';

const FULL = 'WAL, synchronous=FULL on both sides';

/** So many events, so many to a transaction. */
interface Load {
  readonly count: number;
  readonly batch: number;
}

/** Appends against bare inserts of rows of the same columns and text. */
export function bareAppends(directory: string, load: Load): Comparison {
  return {
    name: load.batch === 1 ? 'append, one event a transaction' : `append, ${load.batch} events a transaction`,
    units: load.count,
    unit: 'events',
    atLeast: load.batch === 1 ? 0.7 : 0.3,
    durability: FULL,
    note: 'the bare table has the log alone: no chain, no ids of its own, no debts by key, no index by task or run',
    ours: { name: 'custody', run: () => custodyAppends(directory, load) },
    bound: { name: 'bare better-sqlite3', run: () => bareInserts(directory, load) },
  };
}

/** Appends against an event store on SQLite, one stream a task. */
export function emmettAppends(directory: string, load: Load & { readonly emmettCount: number }): Comparison {
  return {
    name: load.batch === 1 ? 'append, single' : `append, ${load.batch} a time`,
    units: load.count,
    unit: 'events',
    atLeast: load.batch === 1 ? 20 : 5,
    durability: FULL,
    note: `the peer does ${load.emmettCount} events and is scaled up; it fails now and then when it commits, and only runs that went through count; it can't append to several streams at once, so a batch is one append for each task in it; it keeps no debts`,
    ours: { name: 'custody', run: () => custodyAppends(directory, load) },
    bound: { name: 'emmett-sqlite', run: async () => emmettRun(directory, load, 'streams') },
  };
}

/** Appends of whole batches to one stream: not the same events, and the most that the peer can do. */
export function emmettOneStream(
  directory: string,
  load: Load & { readonly emmettCount: number },
): Comparison {
  return {
    ...emmettAppends(directory, load),
    name: `append, ${load.batch} a time, the peer to one stream`,
    atLeast: null,
    note: 'told beside the budget: each batch of the peer goes to one stream, whatever its tasks',
    bound: { name: 'emmett-sqlite', run: async () => emmettRun(directory, load, 'one-stream') },
  };
}

/** It fails now and then when it commits; only runs that went through count. */
const MAX_ATTEMPTS = 20;

const EMMETT = fileURLToPath(new URL('./emmett-run.js', import.meta.url));

function emmettRun(
  directory: string,
  { count, batch, emmettCount }: Load & { readonly emmettCount: number },
  mode: 'streams' | 'one-stream',
): number {
  let failure = '';
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const args = [EMMETT, freshFile(directory, 'emmett'), mode, String(emmettCount), String(batch)];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    if (status === 0) return Number(stdout) * (count / emmettCount);
    failure = stderr;
  }
  throw new Error(`the peer failed ${MAX_ATTEMPTS} times: ${failure}`);
}

async function custodyAppends(directory: string, { count, batch }: Load): Promise<number> {
  const ledger = await openLedger(`sqlite:${freshFile(directory, 'append')}`);
  const elapsed = await timed(async () => {
    for (let start = 0; start < count; start += batch) await ledger.append(eventsFrom(start, batch));
  });
  await ledger.close();
  return elapsed;
}

async function bareInserts(directory: string, { count, batch }: Load): Promise<number> {
  const db = new Database(freshFile(directory, 'bare'));
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec(
    'create table event (seq integer primary key, id text unique, type text, task_id text, run_id text, hash text, text text)',
  );
  const insert = db.prepare(
    'insert into event (id, type, task_id, run_id, hash, text) values (?, ?, ?, ?, ?, ?)',
  );
  const insertAll = db.transaction((from: number) => {
    for (let index = from; index < from + batch; index += 1) {
      const event = eventAt(index);
      insert.run(
        `id-${index}`,
        event.type,
        event.task_id ?? null,
        event.run_id ?? null,
        'f'.repeat(64),
        JSON.stringify(event),
      );
    }
  });
  const elapsed = await timed(() => {
    for (let start = 0; start < count; start += batch) insertAll(start);
  });
  db.close();
  return elapsed;
}

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { openLedger } from '@custody/ledger';
import Database from 'better-sqlite3';
import type { Comparison } from './round.ts';
import { timed } from './round.ts';
import type { Load } from './workload.ts';
import { byCallers, eventAt, eventsFrom, freshFile } from './workload.ts';

const FULL = 'WAL, synchronous=FULL on both sides';

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

/** A load with how much of it the peer does, which is slow: its time is scaled up. */
interface PeerLoad extends Load {
  readonly emmettCount: number;
}

/** Appends against an event store on SQLite, one stream a task. */
export function emmettAppends(directory: string, load: PeerLoad): Comparison {
  return {
    name: load.batch === 1 ? 'append, single' : `append, ${load.batch} a time`,
    units: load.count,
    unit: 'events',
    atLeast: load.batch === 1 ? 20 : 5,
    durability: FULL,
    note: load.batch === 1 ? `${peerNote(load)}; ${OUT_OF_REACH}` : peerNote(load),
    ours: { name: 'custody', run: () => custodyAppends(directory, load) },
    bound: { name: 'emmett-sqlite', run: async () => emmettRun(directory, load, 'streams') },
  };
}

function peerNote({ emmettCount }: PeerLoad): string {
  return `the peer does ${emmettCount} events and is scaled up; it fails now and then when it commits, and only runs that went through count; it can't append to several streams at once, so a batch is one append for each task in it; it keeps no debts`;
}

const OUT_OF_REACH =
  'one caller that waits for each commit can not be that fast on any side: on a quiet machine the bare insert, which keeps nothing but the row, did 6,924/s against 410/s of the peer, 17 times as much';

/** Single events of callers at once. The callers of the peer take turns, since it can't take two at once. */
export function emmettCallers(directory: string, load: PeerLoad & { readonly callers: number }): Comparison {
  return {
    ...emmettAppends(directory, load),
    name: `append, single, ${load.callers} callers at once`,
    note: `${peerNote(load)}; appends of custody that wait share a commit; the callers of the peer take turns: two at once that append again after each error do 25/s, with "Database is closed" for every second append, and ${load.callers} at once come to a standstill`,
    ours: { name: 'custody', run: () => custodyAppends(directory, load, load.callers) },
  };
}

/** Appends of whole batches to one stream: not the same events, and the most that the peer can do. */
export function emmettOneStream(directory: string, load: PeerLoad): Comparison {
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
  { count, batch, emmettCount }: PeerLoad,
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

async function custodyAppends(directory: string, load: Load, callers = 1): Promise<number> {
  const ledger = await openLedger(`sqlite:${freshFile(directory, 'append')}`);
  const elapsed = await timed(() =>
    byCallers(callers, load, (start, size) => ledger.append(eventsFrom(start, size))),
  );
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

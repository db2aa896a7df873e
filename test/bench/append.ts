import { join } from 'node:path';
import type { NewEvent } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import Database from 'better-sqlite3';
import type { Comparison } from './round.ts';
import { timed } from './round.ts';

const NOTE =
  'WAL, synchronous=FULL on both sides; the bound inserts a row of the same columns and text, without chain, fold or ids';

/** Appends one event a transaction against bare inserts of one such row a transaction. */
export function singleAppends(directory: string, count: number): Comparison {
  return {
    name: 'append, one event a transaction',
    units: count,
    unit: 'events',
    atLeast: 0.7,
    note: NOTE,
    ours: { name: 'custody sqlite', run: () => ours(directory, { count, batch: 1 }) },
    bound: { name: 'bare better-sqlite3', run: () => bare(directory, { count, batch: 1 }) },
  };
}

/** Appends 1,000 events a transaction against bare inserts of the same rows. */
export function batchedAppends(directory: string, count: number): Comparison {
  return {
    name: 'append, 1,000 events a transaction',
    units: count,
    unit: 'events',
    atLeast: 0.3,
    note: NOTE,
    ours: { name: 'custody sqlite', run: () => ours(directory, { count, batch: 1000 }) },
    bound: { name: 'bare better-sqlite3', run: () => bare(directory, { count, batch: 1000 }) },
  };
}

let files = 0;

function freshFile(directory: string): string {
  files += 1;
  return join(directory, `append-${files}.db`);
}

/** Starts and settles in turn, as runs come. */
function eventAt(index: number): NewEvent {
  const run = { run_id: `run-${index >> 1}`, task_id: `task-${index >> 3}` };
  return index % 2 === 0
    ? { type: 'run.started', ...run, route: 'route-a', model: 'model-a' }
    : { type: 'run.settled', ...run, state: 'succeeded', cost_usd: 0.25, spend_disclosed: true };
}

async function ours(
  directory: string,
  { count, batch }: { readonly count: number; readonly batch: number },
): Promise<number> {
  const ledger = await openLedger(`sqlite:${freshFile(directory)}`);
  const elapsed = await timed(async () => {
    for (let start = 0; start < count; start += batch) {
      await ledger.append(Array.from({ length: batch }, (_, index) => eventAt(start + index)));
    }
  });
  await ledger.close();
  return elapsed;
}

async function bare(
  directory: string,
  { count, batch }: { readonly count: number; readonly batch: number },
): Promise<number> {
  const db = new Database(freshFile(directory));
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

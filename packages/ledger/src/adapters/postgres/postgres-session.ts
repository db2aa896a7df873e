import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../../ports/clock.ts';
import { readHead } from '../sql/read-head.ts';
import type { Db } from '../sql/tables.ts';
import type { LockedHead, WriteSession } from '../sql/write-transaction.ts';
import type { DatabaseClock } from './database-clock.ts';
import { failureKind } from './postgres-error.ts';

/** How long a write is tried again before its caller hears of it, in milliseconds. */
const PATIENCE_MS = 15_000;

/** The pause before the first further attempt, at most, in milliseconds; each one may take twice as long. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

/** What a session rests on. */
export interface PostgresSessionOptions {
  readonly epoch: number;
  /** Null: the time is the database's. */
  readonly clock: Clock | null;
  /** Learns the database's time with each look at it. */
  readonly databaseClock: DatabaseClock;
  readonly committed: () => void;
}

/** The head row's lock is held from the first statement of a write to its commit, and nothing else is. */
export function postgresSession(options: PostgresSessionOptions): WriteSession {
  // Writes of one handle take turns here: waiting in the database would cost a connection each.
  let last: Promise<unknown> = Promise.resolve();
  return {
    epoch: options.epoch,
    lockHead: async (db, ledger) => {
      const locked = await lockHead(db, ledger);
      options.databaseClock.learn(locked.now);
      return { head: locked.head, now: options.clock?.now() ?? locked.now };
    },
    now: async (db) => {
      if (options.clock !== null) return options.clock.now();
      const now = await readClock(db);
      options.databaseClock.learn(now);
      return now;
    },
    attempt: (run) => {
      const turn = last.then(() => withPatience(run));
      last = turn.catch(() => undefined);
      return turn;
    },
    committed: options.committed,
  };
}

/** The time is read after the lock was granted: a later writer never has an earlier time for having waited less. */
async function lockHead(db: Db, ledger: string): Promise<LockedHead> {
  const { rows } = await sql<{ seq: number; hash: string; epoch: number; incarnation: string; now: number }>`
    with head as materialized (
      select seq, hash, epoch, incarnation from ${sql.table('ledger_head')} where ledger = ${ledger} for update)
    select head.*, floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now from head`.execute(db);
  const [row] = rows;
  // Tells what is missing.
  if (row === undefined) return { head: await readHead(db, ledger), now: 0 };
  const { now, ...head } = row;
  return { head, now };
}

/** The database's time, in milliseconds since 1970. */
export async function readClock(db: Db): Promise<number> {
  const { rows } = await sql<{ now: number }>`
    select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now`.execute(db);
  return rows[0]?.now ?? 0;
}

/** A random pause between attempts, so that those who collided don't meet again. */
async function withPatience<T>(run: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let longest = FIRST_PAUSE_MS; ; longest = Math.min(2 * longest, LONGEST_PAUSE_MS)) {
    try {
      return await run();
    } catch (error) {
      if (failureKind(error) === 'final' || performance.now() >= deadline) throw error;
      await delay(Math.random() * longest);
    }
  }
}

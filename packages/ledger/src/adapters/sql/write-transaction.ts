import { StaleEpochError } from '../../errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Head } from '../../ports/event-store.ts';
import { hashAt, readHead } from './read-head.ts';
import type { Db, SqlContext } from './tables.ts';

/** Where the log stands and what time it is, once no other writer can change either. */
export interface LockedHead {
  readonly head: Head;
  /** The store's own time, in milliseconds since 1970. */
  readonly now: number;
}

/** What a handle that writes is to its ledger. */
export interface WriteSession {
  /** The epoch that the handle may write in. Null where nobody can take the ledger over. */
  epoch: number | null;
  /** Keeps other writers out until the transaction ends, and then looks. */
  readonly lockHead: (db: Db, ledger: string) => Promise<LockedHead>;
  /** The store's own time, in milliseconds since 1970, for a read. */
  readonly now: (db: Db) => Promise<number>;
  /** Runs an attempt, and again where its failure says that a later one can succeed. */
  readonly attempt: <T>(run: () => Promise<T>) => Promise<T>;
  /** Hears of each commit that moved the head. */
  readonly committed: () => void;
}

/** One ledger in one database, with what writing to it takes. */
export interface WritableContext extends SqlContext {
  readonly session: WriteSession;
}

/** A write transaction in progress. */
export interface WriteTurn {
  readonly db: Db;
  readonly now: number;
  /** Moves with each append of the transaction. */
  head: Head;
}

/** What an attempt had put into the log before its commit, and what it would have answered. */
interface Written<T> {
  readonly head: Head;
  readonly answer: T;
}

/**
 * The only way to write: no other writer is between the first look and the commit, and the handle's epoch is checked
 * before anything is read or written.
 *
 * An attempt whose commit nobody answered is looked for by the last event that it wrote before the work is done again.
 * The work of one that wrote no event must be harmless to repeat.
 *
 * @throws StaleEpochError if another handle has raised the epoch; nothing was written.
 */
export async function inWriteTransaction<T>(
  { writer, ledger, session }: WritableContext,
  work: (turn: WriteTurn) => Promise<T>,
): Promise<T> {
  const last: { written: Written<T> | null } = { written: null };
  const answer = await session.attempt(() =>
    writer.transaction().execute(async (db) => {
      const { head, now } = await session.lockHead(db, ledger);
      if (last.written !== null && (await isInLog(db, ledger, last.written.head))) return last.written.answer;
      last.written = null;
      if (session.epoch !== null && session.epoch !== head.epoch)
        throw new StaleEpochError(session.epoch, head.epoch);
      const turn = { db, head, now };
      const done = await work(turn);
      if (turn.head.seq > head.seq) last.written = { head: turn.head, answer: done };
      return done;
    }),
  );
  if (last.written !== null) session.committed();
  return answer;
}

/** True if the log has this very event: its hash covers everything before it. */
async function isInLog(db: Db, ledger: string, { seq, hash }: Head): Promise<boolean> {
  return (await hashAt(db, ledger, seq)) === hash;
}

/** For a database whose transactions take the write lock as they begin, on the clock of this host. */
export function lockedSession(clock: Clock, epoch: number | null): WriteSession {
  return {
    epoch,
    lockHead: async (db, ledger) => ({ head: await readHead(db, ledger), now: clock.now() }),
    now: async () => clock.now(),
    attempt: (run) => run(),
    committed: () => undefined,
  };
}

import { StaleEpochError } from '../../errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Head } from '../../ports/event-store.ts';
import { readHead } from './read-head.ts';
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

/**
 * The only way to write: no other writer is between the first look and the commit, and the handle's epoch is checked
 * before anything is read or written.
 *
 * @throws StaleEpochError if another handle has raised the epoch; nothing was written.
 */
export function inWriteTransaction<T>(
  { writer, ledger, session }: WritableContext,
  work: (turn: WriteTurn) => Promise<T>,
): Promise<T> {
  return session.attempt(() =>
    writer.transaction().execute(async (db) => {
      const { head, now } = await session.lockHead(db, ledger);
      if (session.epoch !== null && session.epoch !== head.epoch)
        throw new StaleEpochError(session.epoch, head.epoch);
      return work({ db, head, now });
    }),
  );
}

/** For a database whose transactions take the write lock as they begin, on the clock of this host. */
export function lockedSession(clock: Clock, epoch: number | null): WriteSession {
  return {
    epoch,
    lockHead: async (db, ledger) => ({ head: await readHead(db, ledger), now: clock.now() }),
    now: async () => clock.now(),
    attempt: (run) => run(),
  };
}

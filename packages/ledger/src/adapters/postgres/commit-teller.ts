import type { PostgresLocation } from '../../core/postgres-url.ts';
import { channelOf } from './commit-listener.ts';
import type { OwnPool } from './postgres-pool.ts';

/** Between two messages, in milliseconds: under load one tells of many commits. */
const PAUSE_MS = 10;

/** Tells those who wait in other handles that this one has committed. */
export interface CommitTeller {
  committed(): void;
  /** Waits for the last message. */
  close(): Promise<void>;
}

/**
 * Tells of commits after they were made, on another connection. Inside of their transactions it would make the commits
 * of all ledgers of the database wait for each other, since NOTIFY takes a lock there until its commit is durable.
 */
export function commitTeller(pool: OwnPool, location: PostgresLocation): CommitTeller {
  let isOwed = false;
  let telling: Promise<void> | null = null;
  const tellAll = async (): Promise<void> => {
    while (isOwed) {
      isOwed = false;
      // A message that is lost costs those who wait an interval, and nothing else.
      await pool.query('select pg_notify($1, $2)', [channelOf(location), '']).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    telling = null;
  };
  return {
    committed: () => {
      if (!location.listens) return;
      isOwed = true;
      telling ??= tellAll();
    },
    close: async () => {
      await telling;
    },
  };
}

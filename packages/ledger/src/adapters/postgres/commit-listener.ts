import { createHash } from 'node:crypto';
import pg from 'pg';
import type { PostgresLocation } from '../../core/postgres-url.ts';
import { clientConfig } from './postgres-pool.ts';

/** The channel on which the commits of a ledger are told. */
export function channelOf({ schema, ledger }: PostgresLocation): string {
  // Names are cut at 63 bytes.
  return `custody_${createHash('sha256').update(`${schema}/${ledger}`).digest('hex').slice(0, 32)}`;
}

/** How long a connection outlives the last one who waited, in milliseconds: most come back at once. */
const LINGER_MS = 2_000;

/** Hears of commits while somebody waits, on one connection of its own. */
export interface CommitListener {
  /** Resolves at the next commit that is told, or never: whoever waits must look by himself as well. */
  next(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A listener that connects when it is needed, and again after its connection was lost. */
export function commitListener(location: PostgresLocation): CommitListener {
  const waiting = new Set<() => void>();
  let client: pg.Client | null = null;
  let linger: NodeJS.Timeout | undefined;

  /** A connection that can't be made or was lost is nobody's error: those who wait look at intervals. */
  function drop(lost: pg.Client): Promise<void> {
    if (client === lost) client = null;
    return lost.end().catch(() => undefined);
  }

  function connect(): void {
    if (client !== null || !location.listens) return;
    const made = new pg.Client(clientConfig(location));
    client = made;
    made.on('error', () => void drop(made));
    made.on('end', () => void drop(made));
    made.on('notification', () => {
      for (const wake of waiting) wake();
    });
    made
      .connect()
      .then(() => made.query(`listen ${channelOf(location)}`))
      // What was committed before is not told any more: whoever waits looks once.
      .then(() => {
        for (const wake of waiting) wake();
      })
      .catch(() => drop(made));
  }

  function leave(wake: () => void): void {
    waiting.delete(wake);
    if (waiting.size > 0) return;
    clearTimeout(linger);
    linger = setTimeout(() => {
      if (waiting.size === 0 && client !== null) void drop(client);
    }, LINGER_MS);
    linger.unref();
  }

  return {
    next: (signal) =>
      new Promise((resolve) => {
        const wake = () => {
          leave(wake);
          resolve();
        };
        signal.addEventListener('abort', () => leave(wake), { once: true });
        waiting.add(wake);
        clearTimeout(linger);
        connect();
      }),
    close: async () => {
      clearTimeout(linger);
      if (client !== null) await drop(client);
    },
  };
}

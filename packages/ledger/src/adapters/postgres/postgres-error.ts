import pg from 'pg';
import { BusyError, StoreError } from '../../errors.ts';

/** What a failure means for the transaction that it ended. */
export type FailureKind =
  /** The connection is gone: a commit that was under way may have happened. */
  | 'lost'
  /** The database gave the transaction up in favour of another one; it did not happen. */
  | 'collided'
  /** Anything else: the transaction did not happen, and another try would fail as well. */
  | 'final';

const COLLISIONS: ReadonlySet<string> = new Set(['40001', '40P01']);

/** Errors of the socket, and of the driver when its socket is gone; the driver's have no codes. */
const SOCKET_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
]);
const LOST_MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded|timeout expired)/;

/** The server ended the connection, or takes none for now. */
const LOST_STATES = /^(08...|57P01|57P02|57P03|57P05|25P03|53300)$/;

/** What the driver's error, or ours that was made of it, means. */
export function failureKind(error: unknown): FailureKind {
  const cause = error instanceof BusyError ? error.cause : error;
  if (!(cause instanceof Error)) return 'final';
  const code = codeOf(cause);
  if (COLLISIONS.has(code)) return 'collided';
  if (LOST_STATES.test(code) || SOCKET_CODES.has(code) || LOST_MESSAGES.test(cause.message)) return 'lost';
  return 'final';
}

function codeOf(error: Error): string {
  const { code } = error as { readonly code?: unknown };
  if (typeof code === 'string') return code;
  // A name with several addresses fails once for each of them.
  const [first] = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [];
  return first instanceof Error ? codeOf(first) : '';
}

const UNREADABLE = 'store_unreadable';

/** Ours are compared with texts and numbers only: a column that can't be is none that the ledger made. */
const OTHER_TYPE = [
  'store_corrupt',
  'a column of the ledger has another type',
  'Restore it from a backup.',
] as const;

/** Errors by their code: what is wrong, as which of ours, and what to do. */
const MEANINGS: Readonly<
  Record<string, readonly ['busy' | StoreError['code'], message: string, hint: string]>
> = {
  '55P03': [
    'busy',
    'another writer held the ledger for too long',
    'Try again; pg_stat_activity shows who holds the lock.',
  ],
  '57014': [
    'busy',
    'the database canceled the statement',
    'Try again, or give it more time with statement_timeout.',
  ],
  '3D000': ['store_missing', 'there is no such database', 'Make it with `createdb`, or correct the URL.'],
  '28P01': [UNREADABLE, 'the database refuses the password', 'Correct the URL, PGPASSWORD or ~/.pgpass.'],
  '28000': [
    UNREADABLE,
    'the database refuses this user',
    'Correct the URL, or let pg_hba.conf take this user.',
  ],
  '42501': [
    UNREADABLE,
    'the user may not do that',
    'Grant what docs/operations.md names, or use the owner of the schema.',
  ],
  '25006': [
    UNREADABLE,
    'the ledger is open for reading only',
    'Use a primary server and a handle that writes.',
  ],
  '53100': [
    UNREADABLE,
    'the disk of the database is full',
    'Free some space; nothing of the write was kept.',
  ],
  '42P01': ['store_corrupt', 'a table of the ledger is gone', 'Restore it from a backup.'],
  '42703': ['store_corrupt', 'a column of the ledger is gone', 'Restore it from a backup.'],
  '42883': OTHER_TYPE,
  '22P02': OTHER_TYPE,
  ENOTFOUND: [UNREADABLE, 'the host of the database is unknown', 'Correct the URL.'],
  XX001: ['store_corrupt', 'a table is damaged', 'Keep it, and restore a backup.'],
  XX002: ['store_corrupt', 'an index is damaged', 'REINDEX it, then run `custody verify --rebuild`.'],
};

/** The driver's error as ours; one that says nothing an operator could act on passes unchanged. */
export function toLedgerError(error: unknown, shown: string): unknown {
  if (!(error instanceof Error)) return error;
  const code = codeOf(error);
  const kind = failureKind(error);
  const facts = { url: shown, ...(code === '' ? {} : { sqlstate: code }) };
  if (kind === 'collided')
    return new BusyError('another transaction went first', { hint: 'Try again.', facts, cause: error });
  if (kind === 'lost')
    return new BusyError(`the database can't be reached: ${error.message || code}`, {
      hint: 'Try again once it runs; see that its address is right and that it has connections left.',
      facts,
      cause: error,
    });
  const meaning = MEANINGS[code];
  if (meaning === undefined) return error;
  const [as, message, hint] = meaning;
  const options = { hint, facts, cause: error };
  // The server's own words name the table or the right that is meant.
  const told = error instanceof pg.DatabaseError ? `${message}: ${error.message}` : message;
  return as === 'busy' ? new BusyError(told, options) : new StoreError(as, told, options);
}

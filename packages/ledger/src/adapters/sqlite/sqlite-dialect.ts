import { realpathSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import type { DatabaseConnection, DialectAdapter, Driver, SqliteDatabase, SqliteStatement } from 'kysely';
import { CompiledQuery, SqliteDialect, SqliteDriver } from 'kysely';
import { BusyError } from '../../errors.ts';
import { offerDirect } from '../sql/direct-statements.ts';
import { toLedgerError } from './sqlite-error.ts';
import { takeWriteTurn } from './write-turn.ts';

/** Statements kept prepared; queries with a fixed text hit always, so the bound only guards against a leak. */
const MAX_STATEMENTS = 512;

/** The statement's own calls, with the driver's errors turned into ours. */
function withOwnErrors(statement: Database.Statement, path: string): SqliteStatement {
  const guarded = <T>(call: () => T): T => {
    try {
      return call();
    } catch (error) {
      throw toLedgerError(error, path);
    }
  };
  return {
    reader: statement.reader,
    all: (parameters) => guarded(() => statement.all(parameters)),
    run: (parameters) => guarded(() => statement.run(parameters)),
    iterate: (parameters) => statement.iterate(parameters) as IterableIterator<unknown>,
  };
}

/** Hands kysely a database that prepares each text once; its driver would prepare on every call. */
function withCachedStatements(database: Database.Database): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>();
  return {
    prepare: (text: string): SqliteStatement => {
      const known = statements.get(text);
      if (known !== undefined) return known;
      if (statements.size >= MAX_STATEMENTS) statements.clear();
      const statement = prepareGuarded(database, text);
      statements.set(text, statement);
      return statement;
    },
    close: () => {
      statements.clear();
      database.close();
    },
  };
}

function prepareGuarded(database: Database.Database, text: string): SqliteStatement {
  try {
    return withOwnErrors(database.prepare(text), database.name);
  } catch (error) {
    throw toLedgerError(error, database.name);
  }
}

/** How long one attempt blocks this thread; the rest of the wait leaves it free for others. */
const ATTEMPT_MS = 20;

/** Between two attempts, at most. Random, so that waiting processes don't keep step. */
const PAUSE_MS = 15;

/** What a driver that writes knows of its file. */
interface WritingOptions {
  readonly file: string;
  readonly patienceMs: number;
  readonly isInTransaction: () => boolean;
}

/**
 * A write transaction takes the lock at once: one that upgrades later can fail after it has read. Handles of
 * this thread take turns; other processes are waited for without blocking the thread.
 */
class WritingSqliteDriver extends SqliteDriver {
  readonly #file: string;
  readonly #patienceMs: number;
  readonly #isInTransaction: () => boolean;
  #endTurn: () => void = () => undefined;

  constructor(database: SqliteDatabase, options: WritingOptions) {
    super({ database });
    this.#file = options.file;
    this.#patienceMs = options.patienceMs;
    this.#isInTransaction = options.isInTransaction;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const endTurn = await takeWriteTurn(this.#file);
    this.#endTurn = endTurn;
    return super.acquireConnection();
  }

  override async releaseConnection(): Promise<void> {
    await super.releaseConnection();
    this.#endTurn();
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    const deadline = performance.now() + this.#patienceMs;
    for (;;) {
      try {
        await connection.executeQuery(CompiledQuery.raw('begin immediate'));
        return;
      } catch (error) {
        if (!(error instanceof BusyError) || performance.now() >= deadline) throw error;
        await delay(Math.random() * PAUSE_MS);
      }
    }
  }

  /** A disk that fails or is full ends the transaction by itself; what is told then is why, not that it has ended. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#isInTransaction()) await super.rollbackTransaction(connection);
  }
}

/** Kysely over better-sqlite3; a handle that writes takes its lock with `begin immediate`. */
export class CustodySqliteDialect extends SqliteDialect {
  readonly #database: SqliteDatabase;
  readonly #writing: WritingOptions | null;

  constructor(database: Database.Database, options: { readonly immediate: boolean }) {
    const cached = withCachedStatements(database);
    super({ database: cached });
    this.#database = cached;
    this.#writing = options.immediate
      ? {
          file: fileOf(database),
          patienceMs: takePatience(database),
          isInTransaction: () => database.inTransaction,
        }
      : null;
  }

  override createAdapter(): DialectAdapter {
    const adapter = super.createAdapter();
    offerDirect(adapter, (text, values) => {
      const statement = this.#database.prepare(text);
      if (statement.reader) return statement.all(values);
      statement.run(values);
      return [];
    });
    return adapter;
  }

  override createDriver(): Driver {
    return this.#writing === null
      ? super.createDriver()
      : new WritingSqliteDriver(this.#database, this.#writing);
  }
}

let privateDatabases = 0;

/** One name for the file, whichever way leads to it. A private database has no file that others could open. */
function fileOf(database: Database.Database): string {
  if (database.name !== '' && !database.memory) return realpathSync(database.name);
  privateDatabases += 1;
  return `private:${privateDatabases}`;
}

const patience = new WeakMap<Database.Database, number>();

/**
 * The handle's whole patience moves from the driver, which would block the thread, to the transaction. It is
 * remembered, since a handle that is migrated first serves two dialects one after the other.
 */
function takePatience(database: Database.Database): number {
  const patienceMs = patience.get(database) ?? Number(database.pragma('busy_timeout', { simple: true }));
  patience.set(database, patienceMs);
  database.pragma(`busy_timeout = ${Math.min(ATTEMPT_MS, patienceMs)}`);
  return patienceMs;
}

import { realpathSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { CompiledQuery, SqliteDialect, SqliteDriver } from 'kysely';
import type { DatabaseConnection, Driver, SqliteDatabase, SqliteStatement } from 'kysely';
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
    all: (parameters) => guarded(() => statement.all(...parameters)),
    run: (parameters) => guarded(() => statement.run(...parameters)),
    iterate: (parameters) => statement.iterate(...parameters) as IterableIterator<unknown>,
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

/** A write transaction must take the lock at once: one that upgrades later can fail after it has read. */
class ImmediateSqliteDriver extends SqliteDriver {
  readonly #file: string;
  #endTurn: () => void = () => undefined;

  constructor(database: SqliteDatabase, path: string) {
    super({ database });
    // One name for the file, whichever way leads to it.
    this.#file = realpathSync(path);
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
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }
}

/** Kysely over better-sqlite3, with `begin immediate` for handles that write. */
export class CustodySqliteDialect extends SqliteDialect {
  readonly #database: SqliteDatabase;
  readonly #path: string;
  readonly #immediate: boolean;

  constructor(database: Database.Database, options: { readonly immediate: boolean }) {
    const cached = withCachedStatements(database);
    super({ database: cached });
    this.#database = cached;
    this.#path = database.name;
    this.#immediate = options.immediate;
  }

  override createDriver(): Driver {
    return this.#immediate ? new ImmediateSqliteDriver(this.#database, this.#path) : super.createDriver();
  }
}

import type { ConnectionProvider, DatabaseConnection, PostgresPool, SchemableIdentifierNode } from 'kysely';
import {
  CompiledQuery,
  DefaultConnectionProvider,
  DefaultQueryExecutor,
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  PostgresDriver,
  PostgresQueryCompiler,
} from 'kysely';

/** What a handle's transactions begin with, and where its tables are. */
export interface CustodyPostgresOptions {
  readonly pool: PostgresPool;
  /** Several statements, sent at once. */
  readonly begin: string;
  /** The real place of a table, quoted; null for what is none of ours. */
  readonly placeOf: (table: string) => string | null;
}

/**
 * Kysely over pg: one kind of transaction, tables that are where the ledger's partitions are, and statements that are
 * sent while earlier ones of their transaction are not answered yet. Closing the pool is left to its owner.
 */
export function openKysely<T>(options: CustodyPostgresOptions): Kysely<T> {
  const dialect = new PostgresDialect({ pool: options.pool });
  const driver = new OneKindOfTransaction(options);
  const executor = new SendingAheadExecutor(
    new PlacingCompiler(options.placeOf),
    new PostgresAdapter(),
    new DefaultConnectionProvider(driver),
  );
  return new Kysely<T>({ config: { dialect }, dialect, driver, executor });
}

/** Kysely lets the statements of a transaction wait for each other; the connection itself needs no such order. */
class SendingAheadExecutor extends DefaultQueryExecutor {
  override withConnectionProvider(provider: ConnectionProvider): DefaultQueryExecutor {
    let connection: Promise<DatabaseConnection> | null = null;
    return super.withConnectionProvider({
      provideConnection: async (consumer) => {
        connection ??= provider.provideConnection(async (only) => only);
        return consumer(await connection);
      },
    });
  }
}

class OneKindOfTransaction extends PostgresDriver {
  readonly #begin: string;
  readonly #begun = new WeakMap<DatabaseConnection, Promise<unknown>>();

  constructor({ pool, begin }: CustodyPostgresOptions) {
    super({ pool });
    this.#begin = begin;
    void this.init();
  }

  /** Not waited for: what follows is sent after it. One that failed is told at the commit, which can't succeed then. */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    const begun = connection.executeQuery(CompiledQuery.raw(this.#begin));
    begun.catch(() => undefined);
    this.#begun.set(connection, begun);
  }

  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await this.#begun.get(connection);
    await super.commitTransaction(connection);
  }

  /** What is told is why the transaction failed, not that its connection can't even take it back. */
  override async rollbackTransaction(
    connection: Parameters<PostgresDriver['rollbackTransaction']>[0],
  ): Promise<void> {
    try {
      await super.rollbackTransaction(connection);
    } catch {
      // The connection is marked by now and will not be used again; the server rolls back on its own.
    }
  }
}

/** Without a search path: a pooler may give each transaction another connection. */
class PlacingCompiler extends PostgresQueryCompiler {
  readonly #placeOf: CustodyPostgresOptions['placeOf'];

  constructor(placeOf: CustodyPostgresOptions['placeOf']) {
    super();
    this.#placeOf = placeOf;
  }

  protected override visitSchemableIdentifier(node: SchemableIdentifierNode): void {
    const place = node.schema === undefined ? this.#placeOf(node.identifier.name) : null;
    if (place === null) super.visitSchemableIdentifier(node);
    else this.append(place);
  }
}

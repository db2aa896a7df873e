import type {
  DatabaseConnection,
  Driver,
  PostgresPool,
  QueryCompiler,
  SchemableIdentifierNode,
} from 'kysely';
import { CompiledQuery, PostgresDialect, PostgresDriver, PostgresQueryCompiler } from 'kysely';

/** What a handle's transactions begin with, and where its tables are. */
export interface CustodyPostgresOptions {
  readonly pool: PostgresPool;
  /** Several statements, sent at once. */
  readonly begin: string;
  /** The real place of a table, quoted; null for what is none of ours. */
  readonly placeOf: (table: string) => string | null;
}

/** Kysely over pg: one kind of transaction, and tables that are where the ledger's partitions are. */
export class CustodyPostgresDialect extends PostgresDialect {
  readonly #options: CustodyPostgresOptions;

  constructor(options: CustodyPostgresOptions) {
    super({ pool: options.pool });
    this.#options = options;
  }

  override createDriver(): Driver {
    return new OneKindOfTransaction(this.#options);
  }

  override createQueryCompiler(): QueryCompiler {
    return new PlacingCompiler(this.#options.placeOf);
  }
}

class OneKindOfTransaction extends PostgresDriver {
  readonly #begin: string;

  constructor({ pool, begin }: CustodyPostgresOptions) {
    super({ pool });
    this.#begin = begin;
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(this.#begin));
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

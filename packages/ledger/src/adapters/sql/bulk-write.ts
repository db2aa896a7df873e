import type { Insertable } from 'kysely';
import { CompiledQuery } from 'kysely';
import type { Db, SqlContext, Tables } from './tables.ts';

/** Rows of one statement. Few sizes, so that few texts are prepared; the largest stays far below the limit of parameters. */
const SIZES = [256, 64, 16, 4, 1];

/** What to write where, and what a row that is there already means. */
export interface BulkWrite<T extends keyof Tables> {
  readonly table: T;
  readonly rows: readonly Insertable<Tables[T]>[];
  /** The columns that make a row the same one within its ledger; absent where none may be there yet. */
  readonly key?: readonly (keyof Insertable<Tables[T]> & string)[];
}

/** Statements by table, columns and number of rows: writing a text for each batch costs more than running it. */
const texts = new Map<string, string>();

/** Inserts rows, or replaces those that are there, many with one statement. All rows have the same columns. */
export async function writeRows<T extends keyof Tables>(
  db: Db,
  { flags }: SqlContext,
  write: BulkWrite<T>,
): Promise<void> {
  const columns = Object.keys(write.rows[0] ?? {});
  const key =
    write.key === undefined || flags.ledgers === 'one' ? (write.key ?? []) : ['ledger', ...write.key];
  let start = 0;
  for (const size of SIZES) {
    for (; write.rows.length - start >= size; start += size) {
      const text = textOf({
        table: flags.placeOf?.(write.table) ?? `"${write.table}"`,
        columns,
        key,
        size,
        isNumbered: flags.keyList === 'any_array',
      });
      await db.executeQuery(CompiledQuery.raw(text, valuesOf(write.rows, columns, { start, size })));
    }
  }
}

function valuesOf(
  rows: readonly object[],
  columns: readonly string[],
  { start, size }: { readonly start: number; readonly size: number },
): unknown[] {
  const values: unknown[] = [];
  for (let index = start; index < start + size; index += 1) {
    const row = rows[index] as Record<string, unknown>;
    for (const column of columns) values.push(row[column]);
  }
  return values;
}

interface Statement {
  /** Where the table is, quoted. */
  readonly table: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
  readonly size: number;
  /** Parameters are `$1`, `$2`, ... and not `?`. */
  readonly isNumbered: boolean;
}

function textOf(statement: Statement): string {
  const name = `${statement.table} ${statement.size} ${statement.isNumbered} ${statement.key.join()} ${statement.columns.join()}`;
  const text = texts.get(name) ?? buildText(statement);
  texts.set(name, text);
  return text;
}

function buildText({ table, columns, key, size, isNumbered }: Statement): string {
  const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(', ');
  const row = (index: number) =>
    `(${columns.map((_, place) => (isNumbered ? `$${index * columns.length + place + 1}` : '?')).join(', ')})`;
  const rows = Array.from({ length: size }, (_, index) => row(index)).join(', ');
  const insert = `insert into ${table} (${quoted(columns)}) values ${rows}`;
  if (key.length === 0) return insert;
  const replaced = columns
    .filter((column) => column !== 'ledger' && !key.includes(column))
    .map((column) => `"${column}" = excluded."${column}"`);
  return `${insert} on conflict (${quoted(key)}) do update set ${replaced.join(', ')}`;
}

import type { Insertable } from 'kysely';
import { CompiledQuery } from 'kysely';
import { directWay } from './direct-statements.ts';
import type { Db, SqlContext, Tables } from './tables.ts';

/** Rows of one statement. Few sizes, so that few texts are prepared; the largest stays far below the limit of parameters. */
const SIZES = [256, 64, 16, 4, 1];

/** What to write where, and what a row that is there already means. */
export interface BulkWrite<T extends keyof Tables> {
  readonly table: T;
  readonly rows: readonly Insertable<Tables[T]>[];
  /**
   * The columns that make a row the same one; absent where none may be there yet. The ledger is added where it is part
   * of the keys of tables that follow from the log; a table whose key always has it names it.
   */
  readonly key?: readonly (keyof Insertable<Tables[T]> & string)[];
}

/** Inserts rows, or replaces those that are there, many with one statement. All rows have the same columns. */
export async function writeRows<T extends keyof Tables>(
  db: Db,
  { flags }: SqlContext,
  write: BulkWrite<T>,
): Promise<void> {
  const [first] = write.rows;
  if (first === undefined) return;
  const columns = Object.keys(first);
  const key = keyOf(write.key, flags);
  const table = flags.placeOf?.(write.table) ?? `"${write.table}"`;
  if (flags.keyList === 'any_array') {
    await writeColumns(db, { table, columns, key }, write.rows);
    return;
  }
  const runDirectly = directWay(db);
  let start = 0;
  for (const size of SIZES) {
    for (; write.rows.length - start >= size; start += size) {
      const text = textOf({ table, columns, key }, size);
      const values = valuesOf(write.rows, columns, { start, size });
      if (runDirectly === null) await db.executeQuery(CompiledQuery.raw(text, values));
      else runDirectly(text, values);
    }
  }
}

function keyOf(key: readonly string[] = [], { ledgers }: SqlContext['flags']): readonly string[] {
  return key.length === 0 || ledgers === 'one' || key.includes('ledger') ? key : ['ledger', ...key];
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

/** What a statement writes, whatever the rows. */
interface Target {
  /** Where the table is, quoted. */
  readonly table: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
}

/** Each column as one array: a text for every number of rows, whose plan costs nothing. */
async function writeColumns(db: Db, { table, columns, key }: Target, rows: readonly object[]): Promise<void> {
  const values = columns.map((column) => rows.map((row) => (row as Record<string, unknown>)[column]));
  const types = columns.map((column, index) => typeOf(column, values[index] ?? []));
  const arrays = types.map((type, index) => `$${index + 1}::${type}[]`).join(', ');
  const text = `insert into ${table} (${quoted(columns)}) select * from unnest(${arrays})${onConflict({ columns, key })}`;
  await db.executeQuery(CompiledQuery.raw(text, values));
}

/** Numbers that may be null in every row, so that no value tells their type. */
const NULLABLE_NUMBERS: ReadonlySet<string> = new Set(['heartbeat_at_ms']);

function typeOf(column: string, values: readonly unknown[]): 'bigint' | 'text' {
  const isNumber = NULLABLE_NUMBERS.has(column) || values.some((value) => typeof value === 'number');
  return isNumber ? 'bigint' : 'text';
}

/** The text of a statement, with what it was written from. */
interface KnownText extends Target {
  readonly texts: Map<number, string>;
}

/** By table. Writing a text for each batch costs more than running it, and so would a name for each text. */
const known = new Map<string, KnownText[]>();

function textOf(target: Target, size: number): string {
  const { texts } = knownOf(target);
  const text = texts.get(size) ?? buildText(target, size);
  texts.set(size, text);
  return text;
}

function knownOf(target: Target): KnownText {
  const ofTable = known.get(target.table) ?? [];
  const found = ofTable.find(
    ({ columns, key }) => isSameList(columns, target.columns) && isSameList(key, target.key),
  );
  if (found !== undefined) return found;
  const added = { ...target, texts: new Map<number, string>() };
  known.set(target.table, [...ofTable, added]);
  return added;
}

function isSameList(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index]);
}

function buildText({ table, columns, key }: Target, size: number): string {
  const row = `(${columns.map(() => '?').join(', ')})`;
  const rows = Array.from({ length: size }, () => row).join(', ');
  return `insert into ${table} (${quoted(columns)}) values ${rows}${onConflict({ columns, key })}`;
}

function onConflict({ columns, key }: Pick<Target, 'columns' | 'key'>): string {
  if (key.length === 0) return '';
  const replaced = columns
    .filter((column) => column !== 'ledger' && !key.includes(column))
    .map((column) => `"${column}" = excluded."${column}"`);
  return ` on conflict (${quoted(key)}) do update set ${replaced.join(', ')}`;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

import type { CompiledQuery, ReferenceExpression } from 'kysely';
import { sql } from 'kysely';
import { directWay } from './direct-statements.ts';
import type { KeyCondition } from './key-list.ts';
import { isOneOf, keyListValue } from './key-list.ts';
import type { Db, SqlContext, Tables } from './tables.ts';

interface Compilable<Row> {
  compile(): CompiledQuery<Row>;
}

/**
 * A query that is built when it is first asked and kept: building a text costs several times what SQLite needs to
 * run it. `build` puts a value wherever one is bound; each call gives the values in the order of the text.
 */
export function keptQuery<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, values: readonly unknown[]) => Promise<Row[]> {
  // By the adapter, which is a database's own: another one writes its texts differently.
  const kept = new WeakMap<object, CompiledQuery<Row>>();
  return async (db, values) => {
    const { adapter } = db.getExecutor();
    const known = kept.get(adapter) ?? build(db).compile();
    kept.set(adapter, known);
    if (known.parameters.length !== values.length)
      throw new Error(`${values.length} values for ${known.parameters.length} places in: ${known.sql}`);
    const runDirectly = directWay(db);
    return runDirectly === null
      ? (await db.executeQuery<Row>({ ...known, parameters: values })).rows
      : (runDirectly(known.sql, values) as Row[]);
  };
}

/**
 * A kept query that binds a ledger and then a list of keys, and nothing else. One key is compared; more are bound
 * as one list.
 */
export function keyedQuery<Row>(
  build: (db: Db, isKey: KeyCondition) => Compilable<Row>,
): (db: Db, context: Pick<SqlContext, 'ledger' | 'flags'>, keys: readonly string[]) => Promise<Row[]> {
  const ofOne = keptQuery((db) => build(db, isThis));
  const ofMany = {
    json_each: keptQuery((db) => build(db, (column) => isOneOf(column, [], { keyList: 'json_each' }))),
    any_array: keptQuery((db) => build(db, (column) => isOneOf(column, [], { keyList: 'any_array' }))),
  };
  return async (db, { ledger, flags }, keys) => {
    if (keys.length === 0) return [];
    return keys.length === 1
      ? ofOne(db, [ledger, keys[0]])
      : ofMany[flags.keyList](db, [ledger, keyListValue(keys, flags)]);
  };
}

function isThis<T extends keyof Tables>(column: ReferenceExpression<Tables, T> & string) {
  return sql<boolean>`${sql.ref(column)} = ${''}`;
}

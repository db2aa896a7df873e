import type { RawBuilder, ReferenceExpression, SqlBool } from 'kysely';
import { sql } from 'kysely';
import type { SqlDialectFlags, Tables } from './tables.ts';

/** Says of a column that it holds one of the keys that a query is asked with. */
export type KeyCondition = <T extends keyof Tables>(
  column: ReferenceExpression<Tables, T> & string,
) => RawBuilder<SqlBool>;

/** `column in (keys)` with the keys as one parameter. */
export function isOneOf<T extends keyof Tables>(
  column: ReferenceExpression<Tables, T> & string,
  keys: readonly string[],
  flags: Pick<SqlDialectFlags, 'keyList'>,
): RawBuilder<SqlBool> {
  const value = keyListValue(keys, flags);
  if (flags.keyList === 'any_array') return sql<SqlBool>`${sql.ref(column)} = any(${value})`;
  return sql<SqlBool>`${sql.ref(column)} in (select value from json_each(${value}))`;
}

/** A list of keys as the one value that {@link isOneOf} binds. */
export function keyListValue(keys: readonly string[], flags: Pick<SqlDialectFlags, 'keyList'>): unknown {
  return flags.keyList === 'any_array' ? [...keys] : JSON.stringify(keys);
}

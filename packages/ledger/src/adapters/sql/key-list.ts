import type { RawBuilder, ReferenceExpression, SqlBool } from 'kysely';
import { sql } from 'kysely';
import type { SqlDialectFlags, Tables } from './tables.ts';

/** `column in (keys)` with the keys as one parameter. */
export function isOneOf<T extends keyof Tables>(
  column: ReferenceExpression<Tables, T> & string,
  keys: readonly string[],
  flags: SqlDialectFlags,
): RawBuilder<SqlBool> {
  if (flags.keyList === 'any_array') return sql<SqlBool>`${sql.ref(column)} = any(${[...keys]})`;
  return sql<SqlBool>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(keys)}))`;
}

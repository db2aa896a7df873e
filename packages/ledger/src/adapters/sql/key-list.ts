import { sql } from 'kysely';
import type { RawBuilder, ReferenceExpression, SqlBool } from 'kysely';
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

/** `(a, b) in (pairs)` with the pairs as one parameter (two where arrays are bound): one look-up a pair, never their product. */
export function isOnePairOf<T extends keyof Tables>(
  columns: readonly [ReferenceExpression<Tables, T> & string, ReferenceExpression<Tables, T> & string],
  pairs: readonly (readonly [string, string])[],
  flags: SqlDialectFlags,
): RawBuilder<SqlBool> {
  const [first, second] = columns.map((column) => sql.ref(column));
  if (flags.keyList === 'any_array') {
    const firsts = pairs.map(([key]) => key);
    const seconds = pairs.map(([, key]) => key);
    return sql<SqlBool>`(${first}, ${second}) in (select * from unnest(${firsts}::text[], ${seconds}::text[]))`;
  }
  return sql<SqlBool>`(${first}, ${second}) in (select value ->> 0, value ->> 1 from json_each(${JSON.stringify(pairs)}))`;
}

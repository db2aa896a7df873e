import { UsageError } from '@custody/ledger';
import type { z } from 'zod';

/**
 * A part of a request, as its schema says.
 *
 * @throws UsageError `invalid_option` with the `field` that is wrong.
 */
export function checked<Schema extends z.ZodType>(
  schema: Schema | undefined,
  given: unknown,
  part: string,
): z.output<Schema> {
  if (schema === undefined) {
    if (given === undefined || isEmpty(given)) return undefined as z.output<Schema>;
    throw refused(part, 'takes nothing', null);
  }
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.map(String).join('.') ?? '';
  const unknown = issue?.code === 'unrecognized_keys' ? (issue.keys[0] ?? null) : null;
  const field = [path, unknown].filter((item) => item !== null && item !== '').join('.');
  throw refused(part, unknown === null ? (issue?.message ?? 'is invalid') : 'is not known here', field);
}

function isEmpty(given: unknown): boolean {
  return typeof given === 'object' && given !== null && Object.keys(given).length === 0;
}

function refused(part: string, problem: string, field: string | null): UsageError {
  const place = field === null || field === '' ? part : `${field} in ${part}`;
  return new UsageError('invalid_option', `${place}: ${problem}`, {
    hint: 'Nothing was written; /v1/openapi.json says what is taken.',
    facts: { field: field === '' ? null : field },
  });
}

import type { JsonObject, JsonValue } from '@custody/ledger';
import { isId } from '@custody/ledger';
import { parseDuration } from '@custody/reconciler';
import { z } from 'zod';

/** The longest that a request waits, in milliseconds; clients ask again. */
const MAX_WAIT_MS = 60_000;

export const id = z
  .string()
  .refine(isId, 'must be an id: 1 to 128 characters, letters, digits and _ . : -')
  .meta({ minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$' });

export const text = z.string();
export const fence = z.int().min(1);
export const seq = z.int().min(0);
export const count = z.int().min(0);
export const time = z.string().meta({ format: 'date-time' });
export const hash = z.string().regex(/^[0-9a-f]{64}$/);
export const spanMs = z.int().min(1).max(31_536_000_000);

/** Any JSON. */
export const json = z
  .custom<JsonValue>((value) => value !== undefined, 'is missing')
  .meta({ description: 'any JSON' });

/** Any JSON object. */
export const jsonObject = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be a JSON object',
  )
  .meta({ type: 'object', additionalProperties: true });

/** A whole number in a query. */
export const queryNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number)
  .meta({ type: 'integer' });

/** A yes or no in a query. */
export const queryFlag = z.enum(['true', 'false']).transform((value) => value === 'true');

/** How long to wait, such as `30s`; at most a minute. */
export const queryWait = z
  .string()
  .transform((span, context) => {
    try {
      return Math.min(parseDuration(span), MAX_WAIT_MS);
    } catch {
      context.addIssue({ code: 'custom', message: 'must be a span such as 30s' });
      return z.NEVER;
    }
  })
  .meta({ description: 'How long to wait if there is nothing yet, such as 30s; at most 60s.' });

/** Ids that a query gives, each in a parameter of its own. */
export const queryIds = z
  .union([id, z.array(id)])
  .transform((value) => (typeof value === 'string' ? [value] : value));

import { UsageError } from '@custody/ledger';
import ms from 'ms';

/** The longest span that a timer of the host can wait, about 24 days. */
const MAX_MS = 2_147_483_647;

/**
 * A span such as `30s`, `15m` or `1h` in milliseconds; a number is taken as milliseconds.
 *
 * @throws UsageError `invalid_option` for anything that is no positive span.
 */
export function parseDuration(span: string | number): number {
  const value = typeof span === 'number' ? span : ms(span as ms.StringValue);
  if (typeof value === 'number' && Number.isFinite(value) && value > 0 && value <= MAX_MS) return value;
  throw new UsageError('invalid_option', `${JSON.stringify(span)} is no span of time`, {
    hint: 'Write a span as 500ms, 30s, 15m or 1h (at most 24 days).',
    facts: { value: span },
  });
}

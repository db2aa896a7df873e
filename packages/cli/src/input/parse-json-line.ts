import { CliError } from '../errors.ts';
import type { InputLine } from './byte-lines.ts';
import { findLossyInteger } from './lossy-integer.ts';

/**
 * The JSON value of a line.
 *
 * @throws CliError `invalid_json`; `invalid_event` for an integer that would not survive.
 */
export function parseJsonLine(line: InputLine): unknown {
  let value: unknown;
  try {
    value = JSON.parse(line.text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CliError('invalid_json', `line ${line.number} is not JSON: ${reason}`, {
      hint: 'Write one JSON object a line.',
      facts: { line: line.number },
      cause,
    });
  }
  const lossy = findLossyInteger(line.text, value);
  if (lossy === null) return value;
  throw new CliError(
    'invalid_event',
    `line ${line.number}: ${lossy.field} is ${lossy.literal}, which would be stored as another number`,
    {
      hint: 'Write integers beyond 2^53 as strings.',
      facts: { line: line.number, field: lossy.field },
    },
  );
}

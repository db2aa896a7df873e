import type { JsonValue, TaskRow } from '@custody/ledger';
import { InvalidEventError, InvalidRowError, LedgerError, parseTaskRow } from '@custody/ledger';

/** A line with something in it, and its number from 1. */
interface Line {
  readonly text: string;
  readonly line: number;
}

function linesIn(body: string): readonly Line[] {
  return body
    .split('\n')
    .map((text, index) => ({ text: text.trim(), line: index + 1 }))
    .filter(({ text }) => text !== '');
}

/**
 * JSON Lines, parsed.
 *
 * @throws InvalidEventError `invalid_json` with the `line`.
 */
export function parseJsonLines(
  body: string,
): readonly { readonly value: JsonValue; readonly line: number }[] {
  return linesIn(body).map(({ text, line }, index) => {
    try {
      return { value: JSON.parse(text) as JsonValue, line };
    } catch {
      throw new InvalidEventError('invalid_json', `line ${line} is no JSON`, {
        field: null,
        index,
        hint: 'One JSON document a line. Nothing was written.',
        facts: { line },
      });
    }
  });
}

/**
 * Rows, a document a line; every number keeps its spelling.
 *
 * @throws InvalidRowError with the `line`.
 */
export function parseRowLines(body: string): readonly TaskRow[] {
  return linesIn(body).map(({ text, line }) => {
    try {
      return parseTaskRow(text);
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      throw new InvalidRowError(`line ${line}: ${error.message}`, {
        hint: 'Correct the row; nothing was written.',
        facts: { ...error.facts, line },
      });
    }
  });
}

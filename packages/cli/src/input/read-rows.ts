import type { TaskRow } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import { CliError } from '../errors.ts';
import { isPlanned } from '../output/error-report.ts';
import type { InputLine } from './byte-lines.ts';
import { byteLines } from './byte-lines.ts';
import { openInput } from './open-input.ts';
import { splitArray } from './split-array.ts';

/** Where a document stood in the input. */
type Place = { readonly line: number } | { readonly index: number } | Record<string, never>;

interface RowText {
  readonly text: string;
  readonly place: Place;
}

/**
 * Task rows from a JSON object, a JSON array of objects, or JSON Lines, every value in its own spelling. All of
 * them are checked before the first is handed out.
 *
 * @throws CliError `invalid_json` or `invalid_row` with the line, or the index in the array.
 */
export async function readRows(
  context: CommandContext,
  file: string | undefined,
): Promise<readonly TaskRow[]> {
  const lines: InputLine[] = [];
  for await (const batch of byteLines(openInput(context, file))) lines.push(...batch);
  const { parseTaskRow } = await import('@custody/ledger');
  return toRowTexts(lines).map((row) => {
    assertJson(row);
    return checked(row, parseTaskRow);
  });
}

/** One document over many lines when the first line is not a document of its own. */
function toRowTexts(lines: readonly InputLine[]): readonly RowText[] {
  const first = lines[0];
  if (first === undefined) return [];
  if (lines.length > 1 && isJson(first.text))
    return lines.map(({ text, number }) => ({ text, place: { line: number } }));
  const text = lines.map((line) => line.text).join('\n');
  if (!text.trimStart().startsWith('[')) {
    // Neither a document nor its first line: as JSON Lines the error names the line.
    if (lines.length > 1 && !isJson(text))
      return lines.map((line) => ({ text: line.text, place: { line: line.number } }));
    return [{ text, place: lines.length > 1 ? {} : { line: first.number } }];
  }
  assertJson({ text, place: {} });
  return splitArray(text).map((item, index) => ({ text: item, place: { index } }));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function assertJson({ text, place }: RowText): void {
  try {
    JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CliError('invalid_json', `${placeText(place)}is not JSON: ${reason}`, {
      hint: 'Give a JSON object, an array of objects, or one object a line. Nothing was written.',
      facts: { ...place },
      cause,
    });
  }
}

function checked({ text, place }: RowText, parse: (text: string) => TaskRow): TaskRow {
  try {
    const row = parse(text);
    if (row.status !== '') return row;
    throw new CliError('invalid_row', 'status must be a non-empty string', {
      hint: 'Give every row its status.',
      facts: { task_id: row.task_id, field: 'status' },
    });
  } catch (error) {
    if (!isPlanned(error)) throw error;
    throw new CliError('invalid_row', `${placeText(place)}${error.message}`, {
      hint: `${error.hint} Nothing was written.`,
      facts: { ...place, ...error.facts },
      cause: error,
    });
  }
}

function placeText(place: Place): string {
  if ('line' in place) return `line ${place.line}: `;
  return 'index' in place ? `item ${place.index} of the array: ` : '';
}

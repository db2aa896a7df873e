import type { CommandContext } from '../command-context.ts';
import { onOneLine } from './compact-json.ts';

/**
 * A JSON object from the exact texts of its values, on one line. For reports that quote a row: its numbers must
 * not pass through a double.
 */
export function rawObjectLine(fields: Readonly<Record<string, string>>): string {
  return onOneLine(
    `{${Object.entries(fields)
      .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
      .join(',')}}`,
  );
}

/** Prints a report whose fields are JSON texts. */
export async function printRawReport(
  context: CommandContext,
  fields: Readonly<Record<string, string>>,
  human: () => string,
): Promise<void> {
  await context.out.write(context.json ? `${rawObjectLine(fields)}\n` : `${human().trimEnd()}\n`);
}

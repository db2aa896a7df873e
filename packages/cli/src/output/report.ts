import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';

/** Prints the one result of a command: a JSON document for programs, text for people. */
export async function printReport(
  context: CommandContext,
  report: object,
  human: () => string,
): Promise<void> {
  await context.out.write(context.json ? `${JSON.stringify(report)}\n` : withNewline(human()));
}

/** Prints that the answer is no. For people this is a remark on stderr: there is no result. */
export async function printRefusal(
  context: CommandContext,
  refusal: object,
  human: string,
): Promise<ExitCode> {
  if (context.json) await context.out.write(`${JSON.stringify(refusal)}\n`);
  else await context.err.write(withNewline(`custody: ${human}`));
  return EXIT.refused;
}

/** Tells people something beside the result. Programs that asked for JSON get it too, on stderr. */
export async function remark(context: CommandContext, text: string): Promise<void> {
  await context.err.write(withNewline(`custody: ${text}`));
}

function withNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

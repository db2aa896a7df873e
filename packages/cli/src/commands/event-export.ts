import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';

/** Prints every event as a line of JSON, byte for byte as it is chained, whoever reads. */
export async function eventExport(context: CommandContext): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    const { toPrintedLine } = await import('@custody/ledger');
    for await (const { event, text } of ledger.read()) {
      if (context.out.isClosed()) break;
      await context.out.write(`${toPrintedLine(text, event.hash)}\n`);
    }
    return EXIT.done;
  });
}

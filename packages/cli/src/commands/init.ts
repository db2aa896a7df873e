import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { printReport } from '../output/report.ts';

/** Makes the store, or brings one that is there to the newest schema. Running it twice is fine. */
export async function init(context: CommandContext): Promise<ExitCode> {
  return withLedger(context, 'create', async ({ created, schemaVersion }) => {
    const report = { store: context.storeUrl, created, schema_version: schemaVersion };
    await printReport(
      context,
      report,
      () => `${context.storeUrl} ${created ? 'is made' : 'was there already'} (schema ${schemaVersion})`,
    );
    return EXIT.done;
  });
}

import type { RecoveryReport } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withManagedLedger } from '../open-managed.ts';
import { printable } from '../output/printable.ts';
import { printReport } from '../output/report.ts';
import { journalFault } from './journal-fault.ts';

/** Hands every result that waits in a folder to the ledger. Doing it twice is fine. */
export async function journalRecover(
  context: CommandContext,
  { dir }: { readonly dir: string },
): Promise<ExitCode> {
  return withManagedLedger(context, {}, async (ledger) => {
    const { openJournals } = await import('@custody/ledger');
    const report = await recovered();
    await printReport(context, report, () => humanReport(report));
    return EXIT.done;

    async function recovered(): Promise<RecoveryReport> {
      try {
        return await openJournals(dir).recover(ledger);
      } catch (error) {
        throw journalFault(error, dir);
      }
    }
  });
}

function humanReport({ applied, stale, conflict, retry, files }: RecoveryReport): string {
  return [
    ...files.map(({ outcome, file, reason }) =>
      printable(`${outcome} ${file}${reason === undefined ? '' : ` (${reason})`}`),
    ),
    `${applied} applied, ${stale} stale, ${conflict} in conflict, ${retry} to be tried again`,
  ].join('\n');
}

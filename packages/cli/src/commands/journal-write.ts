import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { checkManaged } from '../open-managed.ts';
import { isPlanned } from '../output/error-report.ts';
import { printable } from '../output/printable.ts';
import { printRefusal, printReport } from '../output/report.ts';
import { journalFault } from './journal-fault.ts';

/** Options of `journal write`. */
export interface JournalWriteOptions {
  readonly dir: string;
  readonly task: string;
  readonly run: string;
  readonly result: string;
  readonly summary?: string | undefined;
}

/** Keeps the result of a run in a folder, durably, before the ledger is called. Needs no store. */
export async function journalWrite(context: CommandContext, options: JournalWriteOptions): Promise<ExitCode> {
  const { dir, task: taskId, run: runId, result, summary } = options;
  await checkManaged(context, { '--task': taskId, '--run': runId });
  const { openJournals } = await import('@custody/ledger');
  try {
    const report = await openJournals(dir).write({ taskId, runId, result, summary: summary ?? null });
    await printReport(context, report, () => `pending ${printable(report.pending)}`);
    return EXIT.done;
  } catch (error) {
    if (!isPlanned(error) || error.code !== 'journal_conflict') throw journalFault(error, dir);
    const refusal = { outcome: 'refused', reason: error.code, ...error.facts };
    return printRefusal(context, refusal, `${printable(error.message)}\nhint: ${printable(error.hint)}`);
  }
}

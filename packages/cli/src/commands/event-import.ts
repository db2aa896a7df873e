import type { ImportProblem, ImportResult } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { printable } from '../output/printable.ts';
import { startProgress } from '../output/progress.ts';
import { printReport, remark } from '../output/report.ts';

/** Options of `event import`. */
export interface EventImportOptions {
  /** A data root, a JSONL store, an export, a file of events, or a kanban board. */
  readonly path: string;
}

/** Takes over the events and rows of another log. The same again appends nothing. */
export async function eventImport(context: CommandContext, { path }: EventImportOptions): Promise<ExitCode> {
  const { importInto } = await import('@custody/ledger');
  return withLedger(context, 'create', async (ledger) => {
    const progress = startProgress(context.err, context.now);
    const onProgress = ({
      bytes_done,
      bytes_total,
      events,
    }: {
      bytes_done: number;
      bytes_total: number;
      events: number;
    }) => {
      const percent = bytes_total === 0 ? 100 : Math.floor((bytes_done / bytes_total) * 100);
      progress.show(`importing: ${percent}% of ${bytes_total} bytes, ${events} events`);
    };
    const result = await importInto(ledger, path, { onProgress }).finally(() => progress.end());
    if (!context.json) await remarkSkipped(context, result);
    await printReport(context, result, () => humanImport(result));
    return EXIT.done;
  });
}

/** What was not taken, counted by why, and each place that one can look at. */
async function remarkSkipped(context: CommandContext, result: ImportResult): Promise<void> {
  for (const [reason, count] of Object.entries(result.skipped_reasons))
    await remark(context, printable(`skipped ${count}: ${reason}`));
  for (const problem of result.problems) await remark(context, problemText(problem));
}

function humanImport({ appended, duplicates, rows_written, rows_skipped, skipped }: ImportResult): string {
  const leftOut = `${skipped.noise} of others, ${skipped.torn} torn, ${skipped.invalid} invalid`;
  return [
    `${appended} events appended, ${duplicates} already there`,
    `${rows_written} rows written, ${rows_skipped} left out`,
    `left out: ${leftOut}`,
  ].join('\n');
}

function problemText({ place, line, task_id, message }: ImportProblem): string {
  const where = [
    place,
    line === undefined ? '' : `line ${line}`,
    task_id === undefined ? '' : `task ${task_id}`,
  ];
  return printable(`${where.filter((part) => part !== '').join(', ')}: ${message}`);
}

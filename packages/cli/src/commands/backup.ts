import type { CommandContext } from '../command-context.ts';
import { CliError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { isPlanned } from '../output/error-report.ts';
import { printable } from '../output/printable.ts';
import { startProgress } from '../output/progress.ts';
import { printRefusal, printReport } from '../output/report.ts';

/** Options of `backup`. */
export interface BackupOptions {
  readonly file: string;
  /** Replace a file that is there. */
  readonly force?: boolean | undefined;
}

/** Copies a SQLite store while others write it, proves the copy, and puts it in its place in one step. */
export async function backup(context: CommandContext, { file, force }: BackupOptions): Promise<ExitCode> {
  const { backUp } = await import('@custody/ledger');
  const progress = startProgress(context.err, context.now);
  const done = await backUp(context.storeUrl, file, {
    overwrite: force ?? false,
    onProgress: ({ pages_done, pages_total }) =>
      progress.show(`copying: ${pages_done} of ${pages_total} pages`),
  })
    .catch((error: unknown) => {
      throw isPlanned(error) ? error : notWritten(file, error);
    })
    .finally(() => progress.end());
  if (done.outcome === 'refused')
    return printRefusal(
      context,
      done,
      `${printable(file)} is there already; nothing was written\nhint: Give another path, or --force to replace it.`,
    );
  const { bytes, verified } = done;
  const report = { store: context.storeUrl, file, bytes, ...verified, verified: true };
  await printReport(
    context,
    report,
    () =>
      `${printable(file)}: ${bytes} bytes, ${verified.events} events, verified with every table\nhead ${verified.head_seq}:${verified.head_hash}`,
  );
  return EXIT.done;
}

function notWritten(file: string, cause: unknown): CliError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new CliError('output_failed', `${file} can't be written: ${reason}`, {
    hint: 'Give a path in a folder that is there and can be written; what stood there before still does.',
    facts: { path: file },
    cause,
  });
}

import type { VerifyProblem, VerifyReport } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import type { ProofFiles } from '../input/checkpoint-proof.ts';
import { checkpointProof } from '../input/checkpoint-proof.ts';
import type { ExpectedHead } from '../input/parse-options.ts';
import { withLedger } from '../open-store.ts';
import { printable } from '../output/printable.ts';
import { printReport } from '../output/report.ts';

/** Options of `verify`. */
export interface VerifyOptions extends ProofFiles {
  /** Also compares every table with a replay of the log. */
  readonly rebuild?: boolean | undefined;
  /** A head noted earlier: the log must still contain it. */
  readonly expectHead?: ExpectedHead | undefined;
}

/** Proves that nothing was lost or edited. Reads only. */
export async function verify(
  context: CommandContext,
  { rebuild, expectHead, ...files }: VerifyOptions,
): Promise<ExitCode> {
  const proof = await checkpointProof(context, files);
  return withLedger(context, 'prove', async (ledger) => {
    const report = await ledger.verify({
      rebuild: rebuild ?? false,
      ...(expectHead === undefined ? {} : { expectHead }),
      ...(proof === null ? {} : { proof }),
    });
    await printReport(context, report, () => humanReport(report, context));
    return report.ok ? EXIT.done : EXIT.refused;
  });
}

function humanReport(report: VerifyReport, { paint }: CommandContext): string {
  const verdict = report.ok ? paint.green('ok') : paint.red('NOT OK');
  return [
    `${verdict}: ${report.events} events${report.ok ? ', nothing lost or edited' : ''}`,
    `head ${report.head_seq}:${report.head_hash}`,
    ...report.problems.map((problem) => `${paint.red('problem')} ${problemText(problem)}`),
    ...report.notes.map((note) => `${paint.yellow('note')} ${problemText(note)}`),
  ].join('\n');
}

function problemText({ code, message, seq, line, task_id, file }: VerifyProblem): string {
  const place = [
    file === undefined ? '' : file,
    line === undefined ? '' : `line ${line}`,
    seq === undefined ? '' : `seq ${seq}`,
    task_id === undefined ? '' : `task ${task_id}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
  return printable(`${code}${place === '' ? '' : ` (${place})`}: ${message}`);
}

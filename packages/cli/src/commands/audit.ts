import type { AuditOptions } from '../audit/audit-screen.ts';
import { auditScreen, viewOf } from '../audit/audit-screen.ts';
import type { AuditView } from '../audit/audit-view.ts';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { isUntrue } from '../output/audit-text.ts';
import { printReport } from '../output/report.ts';
import { watchAudit } from './audit-watch.ts';

/** Prints who holds what, and whether the rows say so. Reads only. */
export async function audit(context: CommandContext, options: AuditOptions): Promise<ExitCode> {
  const { asOf, watch, check } = options;
  refuseTogether(options);
  if (watch !== undefined) return watchAudit(context, options, watch);
  return withLedger(context, 'look', async (ledger) => {
    const view = await viewOf(ledger, context, options, asOf);
    await printReport(context, view, () => auditScreen(view, options, context));
    return check === true && hasFindings(view) ? EXIT.refused : EXIT.done;
  });
}

function refuseTogether({ watch, check, asOf }: AuditOptions): void {
  if (watch === undefined || (check !== true && asOf === undefined)) return;
  throw usageError(
    `--watch and ${check === true ? '--check' : '--as-of'} exclude each other`,
    '--watch goes on until it is stopped and tells how it stands now; run the other one without it.',
    { option: '--watch' },
  );
}

/** What `--check` looks for: a debt, or a row that does not tell the truth. */
function hasFindings({ owed, tasks, parked }: AuditView): boolean {
  return (
    owed.length > 0 || parked.length > 0 || tasks.some((task) => isUntrue(task) || task.current === false)
  );
}

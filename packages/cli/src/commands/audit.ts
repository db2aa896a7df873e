import type { AuditOptions } from '../audit/audit-screen.ts';
import { auditScreen, viewOf } from '../audit/audit-screen.ts';
import { hasFindings } from '../audit/audit-view.ts';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { printReport } from '../output/report.ts';
import { auditLedgers } from './audit-ledgers.ts';
import { watchAudit } from './audit-watch.ts';

/** Prints who holds what, and whether the rows say so. Reads only. */
export async function audit(context: CommandContext, options: AuditOptions): Promise<ExitCode> {
  const { asOf, watch, check } = options;
  refuseTogether(options);
  if (watch !== undefined) return watchAudit(context, options, watch);
  if (options.allLedgers === true) return auditLedgers(context, options);
  return withLedger(context, 'look', async (ledger) => {
    const view = await viewOf(ledger, context, options, asOf);
    await printReport(context, view, () => auditScreen(view, options, context));
    return check === true && hasFindings(view) ? EXIT.refused : EXIT.done;
  });
}

function refuseTogether({ taskIds, watch, check, asOf, allLedgers }: AuditOptions): void {
  if (watch !== undefined && (check === true || asOf !== undefined))
    throw usageError(
      `--watch and ${check === true ? '--check' : '--as-of'} exclude each other`,
      '--watch goes on until it is stopped and tells how it stands now; run the other one without it.',
      { option: '--watch' },
    );
  if (allLedgers !== true) return;
  if (watch !== undefined || (asOf !== undefined && 'seq' in asOf) || taskIds.length > 0)
    throw usageError(
      `--all-ledgers excludes ${watch !== undefined ? '--watch' : taskIds.length > 0 ? 'ids of tasks' : 'a seq'}`,
      "Ids, places in the log and a screen to watch are one ledger's; name it with ?ledger=NAME in the store URL.",
      { option: '--all-ledgers' },
    );
}

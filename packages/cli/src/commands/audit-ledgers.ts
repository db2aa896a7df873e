import type { AuditOptions } from '../audit/audit-screen.ts';
import { auditScreen, viewOf } from '../audit/audit-screen.ts';
import type { AuditView } from '../audit/audit-view.ts';
import { hasFindings } from '../audit/audit-view.ts';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { programFor } from '../output/program-for.ts';
import { remark } from '../output/report.ts';

/**
 * Audits each ledger of the database for itself: a screen each, or a JSON document a line. One that can't be audited
 * is named, and keeps nobody from the others; its error comes last.
 */
export async function auditLedgers(context: CommandContext, options: AuditOptions): Promise<ExitCode> {
  const { listLedgers } = await import('@custody/ledger');
  let isClean = true;
  const errors: unknown[] = [];
  for (const { ledger: name, url } of await listLedgers(context.storeUrl)) {
    if (context.out.isClosed()) break;
    const here = { ...context, storeUrl: url, program: programFor(url) };
    try {
      const view = await withLedger(here, 'look', (ledger) => viewOf(ledger, here, options, options.asOf));
      await context.out.write(`${told(name, view, options, here)}\n`);
      isClean &&= !hasFindings(view);
    } catch (error) {
      errors.push(error);
      await remark(context, `the ledger ${name} can't be audited`);
    }
  }
  if (errors.length > 0) throw errors[0];
  return options.check === true && !isClean ? EXIT.refused : EXIT.done;
}

function told(name: string, view: AuditView, options: AuditOptions, context: CommandContext): string {
  if (context.json) return JSON.stringify({ ledger: name, ...view });
  return `${context.paint.bold(`ledger ${name}`)}\n${auditScreen(view, options, context)}\n`;
}

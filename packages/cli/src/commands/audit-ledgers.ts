import type { AuditOptions } from '../audit/audit-screen.ts';
import { auditScreen, viewOf } from '../audit/audit-screen.ts';
import { hasFindings } from '../audit/audit-view.ts';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { programFor } from '../output/program-for.ts';

/** Audits each ledger of the database for itself: a screen each, or a JSON document a line. */
export async function auditLedgers(context: CommandContext, options: AuditOptions): Promise<ExitCode> {
  const { listLedgers } = await import('@custody/ledger');
  const { out, json, paint } = context;
  let isClean = true;
  for (const { ledger: name, url } of await listLedgers(context.storeUrl)) {
    if (out.isClosed()) break;
    const here = { ...context, storeUrl: url, program: programFor(url) };
    const view = await withLedger(here, 'look', (ledger) => viewOf(ledger, here, options, options.asOf));
    isClean &&= !hasFindings(view);
    const screen = json
      ? JSON.stringify({ ledger: name, ...view })
      : `${paint.bold(`ledger ${name}`)}\n${auditScreen(view, options, here)}\n`;
    await out.write(`${screen}\n`);
  }
  return options.check === true && !isClean ? EXIT.refused : EXIT.done;
}

import type { Stats } from '@custody/reconciler';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { valueText } from '../output/printable.ts';
import { printReport } from '../output/report.ts';
import { sinceText } from '../output/time-text.ts';

/** Prints the figures of a ledger that an operator watches. */
export async function stats(context: CommandContext): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    const { createReconciler } = await import('@custody/reconciler');
    const report = await createReconciler(ledger).stats();
    await printReport(context, report, () => humanStats(report, context));
    return EXIT.done;
  });
}

function humanStats(report: Stats, { paint, now }: CommandContext): string {
  const { last_pass: lastPass, oldest_unreconciled_at: oldest, ...figures } = report;
  const lines = Object.entries(figures).map(([name, value]) => [name, valueText(value)] as const);
  const passes = Object.entries(lastPass).map(([name, value]) => [`last ${name}`, valueText(value)] as const);
  return [
    ...lines,
    ['oldest_unreconciled_at', oldest === null ? '-' : `${oldest} (${sinceText(oldest, now())})`] as const,
    ...passes,
  ]
    .map(([name, value]) => `${paint.dim(name.padEnd(24))}${value}`)
    .join('\n');
}

import type { JsonObject } from '@custody/ledger';
import type { Stats } from '@custody/reconciler';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { valueText } from '../output/printable.ts';
import { printReport } from '../output/report.ts';
import { momentText, sinceText } from '../output/time-text.ts';

/** Prints the figures of a ledger that an operator watches. */
export async function stats(context: CommandContext): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    const { createReconciler } = await import('@custody/reconciler');
    const report = await createReconciler(ledger).stats();
    await printReport(context, report, () => humanStats(report, context));
    return EXIT.done;
  });
}

function humanStats(report: Stats, context: CommandContext): string {
  const { paint, now } = context;
  const { oldest_unreconciled_at: oldest } = report;
  const line = ([name, value]: readonly [string, string]): string =>
    `  ${paint.dim(name.padEnd(20))}${value}`;
  const pairs = (names: readonly (keyof Stats)[]): readonly (readonly [string, string])[] =>
    names.map((name) => [name.replaceAll('_', ' '), valueText(report[name])]);
  return [
    paint.bold('ledger'),
    ...pairs(['events', 'tasks', 'runs']).map(line),
    paint.bold('owed'),
    ...pairs(['open_runs', 'pending_invocations', 'undisposed_patches', 'open_questions', 'open_faults']).map(
      line,
    ),
    line(['oldest', oldest === null ? '-' : `${momentText(oldest)} (${sinceText(oldest, now())})`]),
    paint.bold('sweeps'),
    ...pairs(['cursor_lag', 'deferred', 'parked_items']).map(line),
    ...passLines(report, context).map(line),
  ].join('\n');
}

/** When each pass ran last, and what it did; a pass that never ran is told too. */
function passLines(
  { last_pass: passes }: Stats,
  { now }: CommandContext,
): readonly (readonly [string, string])[] {
  return ['backfill', 'sweep'].map((name) => {
    const pass = passes[name];
    if (pass === null || typeof pass !== 'object' || Array.isArray(pass)) return [`last ${name}`, 'never'];
    const { at, ...counts } = pass as JsonObject;
    const did = Object.entries(counts)
      .filter(([, count]) => count !== 0)
      .map(([what, count]) => `${valueText(count)} ${what.replaceAll('_', ' ')}`);
    return [`last ${name}`, [sinceText(valueText(at), now()), ...did].join(', ')];
  });
}

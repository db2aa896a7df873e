import type { CommandContext } from '../command-context.ts';
import type { DemoReport } from '../demo/run-demo.ts';
import { valueText } from './printable.ts';
import { renderTable } from './table.ts';

/** The demo for people, in about one screen. Every number in it comes from the run. */
export function demoText(
  report: DemoReport,
  context: Pick<CommandContext, 'paint' | 'out'>,
  tookMs: number,
): string {
  const { paint } = context;
  const { imported, backfill, frozen, verify } = report;
  const { noise, torn } = imported.skipped;
  return [
    paint.bold('1. A data root, as an orchestrator left it'),
    `   ${imported.appended} events and ${imported.rows_written} task rows, imported into ${report.store}`,
    `   (left out: ${noise} lines of other programs, ${torn} torn lines, ${imported.rows_skipped} unreadable rows)`,
    '',
    paint.bold(`2. What lies: ${backfill.refreshed.length} of ${backfill.examined} terminal rows, such as`),
    indented(examplesTable(report, 'before', context)),
    '',
    paint.bold('3. custody backfill'),
    `   ${backfill.examined} rows examined, ${backfill.refreshed.length} refreshed, ${backfill.failed.length} failed; again: ${report.second_backfill_refreshed} refreshed`,
    indented(examplesTable(report, 'after', context)),
    '',
    ...lateLines(report, context),
    paint.bold('5. What did not move'),
    `   ${frozen.compared} frozen fields compared, ${frozen.changed.length} changed`,
    ...frozenExampleLines(report),
    '',
    paint.bold('6. custody verify --rebuild'),
    `   ${verify.ok ? paint.green('ok') : paint.red('NOT OK')}: ${verify.events} events, head ${verify.head_seq}:${verify.head_hash.slice(0, 16)}…`,
    '',
    `Done in ${(tookMs / 1000).toFixed(1)} s. Look around:`,
    `   export CUSTODY_STORE=${report.store}`,
    `   custody audit; custody explain ${report.examples[0]?.task_id ?? 'TASK'}; custody stats`,
  ].join('\n');
}

function examplesTable(
  report: DemoReport,
  moment: 'before' | 'after',
  { paint, out }: Pick<CommandContext, 'paint' | 'out'>,
): string {
  const colour = moment === 'before' ? paint.red : paint.green;
  const rows = report.examples.map((example) => [
    { text: example.task_id },
    { text: example.field },
    { text: valueText(example[moment]), colour },
  ]);
  return renderTable(['TASK', 'FIELD', moment === 'before' ? 'THE ROW SAID' : 'THE ROW SAYS'], rows, {
    columns: out.columns - 3,
    bold: paint.dim,
  });
}

function lateLines({ late, sweep }: DemoReport, { paint }: Pick<CommandContext, 'paint'>): readonly string[] {
  if (late === null) return [];
  return [
    paint.bold(`4. Later ${late.run_id} succeeds after all; custody sweep`),
    `   ${sweep.events_scanned} events scanned, ${sweep.refreshed.length} refreshed, ${sweep.deferred.length} deferred: their tasks have not ended`,
    `   ${late.task_id} said ${paint.red(valueText(late.before))} and says ${paint.green(valueText(late.after))}`,
    '',
  ];
}

function frozenExampleLines({ frozen_example: example }: DemoReport): readonly string[] {
  if (example === null) return [];
  const { task_id, delegated_runs_settled, evidence_settled } = example;
  return [
    `   ${task_id} still says delegated_runs_settled ${delegated_runs_settled}, as when it ended;`,
    `   its live evidence says ${evidence_settled}, as the log does today`,
  ];
}

function indented(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `   ${line}`)
    .join('\n');
}

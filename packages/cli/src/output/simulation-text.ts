import type { CommandContext } from '../command-context.ts';
import { printable } from './printable.ts';
import type { SimulationReport } from './simulation-report.ts';

/** A simulation for people. */
export function simulationText(report: SimulationReport, { paint }: Pick<CommandContext, 'paint'>): string {
  const { seed, steps, on, failure } = report;
  const struck = report.faults
    .filter(({ count }) => count > 0)
    .map(({ fault, count }) => `${fault} ${count}`);
  const checked = report.checks.map(({ promise, count }) => `${promise} ${count}`);
  return [
    `${report.ok ? paint.green('ok') : paint.red('NOT OK')}: seed ${seed}, ${steps} steps on ${on}`,
    `faults: ${struck.length === 0 ? 'none' : struck.join(', ')}`,
    `checks: ${checked.join(', ')}`,
    ...(failure === null
      ? []
      : [
          paint.red(printable(`${failure.promise} at step ${failure.step}: ${failure.message}`)),
          ...failure.history.map((line) => `  ${printable(line)}`),
        ]),
    `repeat: ${report.repeat}`,
  ].join('\n');
}

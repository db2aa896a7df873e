import type { Measured } from './round.ts';

const COLUMNS = [
  'budget',
  'custody',
  'measured against',
  'its figure',
  'ratio (min to max)',
  'at least',
  '',
] as const;

/** The results as one table, and below it what both sides promise and what a peer can't do. */
export function toTable(results: readonly Measured[]): string {
  const rows = [[...COLUMNS], ...results.map(toRow)];
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 || column === 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
  const notes = results.map((result) => `${result.name}: ${result.durability}; ${result.note}`);
  return `${lines.join('\n')}\n\n${notes.join('\n')}\n`;
}

function toRow(result: Measured): string[] {
  const { median, min, max } = result.ratio;
  return [
    result.name,
    `${result.ours_figure} ${result.unit}`,
    result.bound,
    `${result.bound_figure} ${result.unit}`,
    `${figure(median)} (${figure(min)} to ${figure(max)})`,
    result.at_least === null ? 'told' : figure(result.at_least),
    result.met === null ? '' : result.met ? 'met' : 'NOT MET',
  ];
}

function figure(ratio: number): string {
  return ratio >= 100 ? ratio.toFixed(0) : ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2);
}

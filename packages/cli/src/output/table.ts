import Table from 'cli-table3';
import { wrapText } from './wrap-text.ts';

/** No lines around cells: what is printed can be copied, and two spaces part the columns. */
const CHARS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

const GAP = 2;

/** A column never gets narrower than this when the terminal is too small. */
const MIN_WIDTH = 8;

/** A text, and how it is coloured once it is cut to its column: colours can't be cut. */
export interface Cell {
  readonly text: string;
  readonly colour?: (text: string) => string;
}

/** How a table is drawn. */
export interface TableStyle {
  /** Columns of the terminal. */
  readonly columns: number;
  readonly bold: (text: string) => string;
}

/** Rows under a head, as wide as the terminal allows; longer cells go on in the next line. */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  style: TableStyle,
): string {
  const cells = [head.map((text) => ({ text, colour: style.bold })), ...rows];
  const widths = fittingWidths(cells, style.columns);
  const table = new Table({
    chars: CHARS,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
  });
  table.push(...cells.map((row) => row.map((cell, index) => wrapped(cell, widths[index] ?? MIN_WIDTH))));
  return `${table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`;
}

/** The widest column gives way until everything fits. */
function fittingWidths(rows: readonly (readonly Cell[])[], columns: number): readonly number[] {
  const widths = (rows[0] ?? []).map((_cell, index) =>
    Math.max(...rows.map((row) => row[index]?.text.length ?? 0)),
  );
  let excess = widths.reduce((sum, width) => sum + width + GAP, -GAP) - columns;
  while (excess > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    const width = widths[widest] ?? 0;
    if (width <= MIN_WIDTH) break;
    widths[widest] = width - 1;
    excess -= 1;
  }
  return widths;
}

function wrapped({ text, colour = (line) => line }: Cell, width: number): string {
  return wrapText(text, width).map(colour).join('\n');
}

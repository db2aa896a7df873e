import Table from 'cli-table3';

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

/** How a table is drawn. */
export interface TableStyle {
  /** Columns of the terminal. */
  readonly columns: number;
  readonly bold: (text: string) => string;
}

/** Rows under a head, as wide as the terminal allows; longer cells go on in the next line. */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  style: TableStyle,
): string {
  const widths = fittingWidths(head, rows, style.columns);
  const table = new Table({
    chars: CHARS,
    colWidths: [...widths],
    wordWrap: true,
    wrapOnWordBoundary: false,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
  });
  table.push(
    head.map((cell) => style.bold(cell)),
    ...rows.map((row) => [...row]),
  );
  return `${table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`;
}

/** The widest column gives way until everything fits. */
function fittingWidths(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
): readonly number[] {
  const widths = head.map((cell, index) =>
    Math.max(cell.length, ...rows.map((row) => visibleLength(row[index] ?? ''))),
  );
  const room = columns - GAP * (head.length - 1);
  let excess = widths.reduce((sum, width) => sum + width, 0) - room;
  while (excess > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    const width = widths[widest] ?? 0;
    if (width <= MIN_WIDTH) break;
    widths[widest] = width - 1;
    excess -= 1;
  }
  return widths;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of them
const COLOUR = /\u001b\[[0-9;]*m/g;

function visibleLength(text: string): number {
  return text.replace(COLOUR, '').length;
}

import type { Paint } from '../command-context.ts';
import { shortened, shortenedInside } from './printable.ts';

/** One column of aligned lines. */
export interface Column {
  readonly head: string;
  /** Its texts, a line each. */
  readonly texts: readonly string[];
  /** Never less than this; a column that may not give way has none. */
  readonly least?: number;
  /** True for ids: they are cut in their middle. */
  readonly ids?: boolean;
}

const GAP = '  ';

/**
 * Lines of aligned columns, the heads first. Where they are wider than the terminal, columns that may give way are
 * cut, the widest first; each cut leaves a mark.
 */
export function alignColumns(columns: readonly Column[], width: number): readonly string[] {
  const widths = columns.map(({ head, texts }) => Math.max(head.length, ...texts.map((text) => text.length)));
  let excess = widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length) - width;
  while (excess > 0) {
    const widest = widestOf(columns, widths);
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess -= 1;
  }
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, index) => {
        const size = widths[index] ?? 0;
        const cut = columns[index]?.ids === true ? shortenedInside(text, size) : shortened(text, size);
        return cut.padEnd(size);
      })
      .join(GAP)
      .trimEnd();
  const count = Math.max(0, ...columns.map(({ texts }) => texts.length));
  return [
    line(columns.map(({ head }) => head)),
    ...Array.from({ length: count }, (_, row) => line(columns.map(({ texts }) => texts[row] ?? ''))),
  ];
}

function widestOf(columns: readonly Column[], widths: readonly number[]): number {
  let widest = -1;
  for (const [index, { least }] of columns.entries()) {
    const size = widths[index] ?? 0;
    if (least !== undefined && size > least && size > (widths[widest] ?? 0)) widest = index;
  }
  return widest;
}

/**
 * A command that a person may copy, on lines of its own. It is broken behind a pipe where it is too long for one
 * line, never inside of a word: a shell goes on after a pipe.
 */
export function commandLines(
  command: string,
  indent: string,
  { width, paint }: { readonly width: number; readonly paint: Pick<Paint, 'cyan'> },
): readonly string[] {
  const line = `${indent}$ ${command}`;
  const pipe = command.lastIndexOf(' | ');
  const parts =
    line.length <= width || pipe < 0
      ? [line]
      : [`${indent}$ ${command.slice(0, pipe)} |`, `${indent}    ${command.slice(pipe + ' | '.length)}`];
  return parts.map((part) => paint.cyan(part));
}

import { closeSync } from 'node:fs';
import type { Segment } from './chain-view.ts';
import { readLineBlocks } from './line-reader.ts';
import { openSegment, readRange } from './segment-file.ts';

const NEWLINE = 0x0a;

/** One line of a file that is not blank. */
export interface TextLine {
  readonly text: string;
  /** From 1. */
  readonly line: number;
  /** Offset of the byte behind the line and its newline. */
  readonly end: number;
}

/**
 * The lines of a finished file, the last one also without its newline. Only `\n` ends a line: the other characters
 * that Unicode counts as line ends may stand inside JSON texts.
 */
export function* readTextLines(file: Segment): Generator<TextLine, void> {
  const fd = openSegment(file);
  let line = 0;
  let end = 0;
  try {
    for (const block of readLineBlocks(fd, 0, file.size)) {
      for (let at = 0; at < block.bytes.length; ) {
        const next = block.bytes.indexOf(NEWLINE, at) + 1;
        line += 1;
        end = block.start + next;
        const text = block.bytes.toString('utf8', at, next - 1);
        if (text.trim() !== '') yield { text, line, end };
        at = next;
      }
    }
    const rest = readRange(fd, end, file.size).toString('utf8');
    if (rest.trim() !== '') yield { text: rest, line: line + 1, end: file.size };
  } finally {
    closeSync(fd);
  }
}

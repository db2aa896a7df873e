import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from './json.ts';
import { byCodePoint, isObject, text } from './json.ts';

/** One line of a segment; `isWhole` says that its newline is there. */
export interface Line {
  readonly bytes: number;
  readonly isWhole: boolean;
  readonly row: JsonObject | null;
}

/** The archives, oldest first, then the live file; null when one of them cannot be read. */
export type Chain = readonly (readonly Line[])[] | null;

const SEGMENT = /^events_.*\.jsonl$/;
const NEWLINE = 0x0a;

/** Reads the whole chain of a data root. An absent log is an empty chain. */
export function readChain(root: string): Chain {
  try {
    const archive = join(root, 'archive');
    const names = existsSync(archive) ? readdirSync(archive).filter((name) => SEGMENT.test(name)) : [];
    const paths = names.sort(byCodePoint).map((name) => join(archive, name));
    const live = join(root, 'logs', 'events.jsonl');
    if (existsSync(live)) paths.push(live);
    return paths.map((path) => splitLines(readFileSync(path)));
  } catch {
    return null;
  }
}

/** The custody rows of the chain, in order. A line without a newline does not exist yet. */
export function custodyRows(chain: Chain): JsonObject[] {
  return (chain ?? []).flat().flatMap(({ isWhole, row }) => {
    return isWhole && row !== null && text(row, 'type').startsWith('delegate_run') ? [row] : [];
  });
}

function splitLines(content: Buffer): Line[] {
  const lines: Line[] = [];
  let start = 0;
  while (start < content.length) {
    const newline = content.indexOf(NEWLINE, start);
    const end = newline === -1 ? content.length : newline + 1;
    lines.push({ bytes: end - start, isWhole: newline !== -1, row: parse(content.subarray(start, end)) });
    start = end;
  }
  return lines;
}

function parse(line: Buffer): JsonObject | null {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

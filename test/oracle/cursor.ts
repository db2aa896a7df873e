import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Line } from './chain.ts';
import { readChain } from './chain.ts';
import { byCodePoint, isObject, own, text } from './json.ts';

/** Bytes that one pass may read before it stops at the next line. */
const WINDOW = 5_242_880;
const ENDINGS = ['delegate_run_settled', 'delegate_run_closed_absent'];

/** The tasks that one cursor pass looks at, in order: those of the rows that it reads and those it had deferred. */
export function cursorBatch(root: string): string[] {
  const stored = readCursor(root);
  const chain = readChain(root);
  if (chain === null) return [];
  const total = chain.flat().reduce((sum, line) => sum + line.bytes, 0);
  const tasks = new Set(stored.deferred);
  for (const { row } of linesInWindow(chain, stored.offset > total ? 0 : stored.offset)) {
    if (row !== null && ENDINGS.includes(text(row, 'type'))) tasks.add(text(row, 'task_id'));
  }
  tasks.delete('');
  return [...tasks].sort(byCodePoint);
}

/** The whole lines from an offset in the chain on, until the window is full. */
function linesInWindow(chain: readonly (readonly Line[])[], offset: number): Line[] {
  const lines: Line[] = [];
  let position = 0;
  let bytesRead = 0;
  for (const line of chain.flat()) {
    if (bytesRead > WINDOW) break;
    if (position >= offset && line.isWhole) {
      lines.push(line);
      bytesRead += line.bytes;
    }
    position += line.bytes;
  }
  return lines;
}

function readCursor(root: string): { offset: number; deferred: string[] } {
  try {
    const path = join(root, 'state', 'delegate_terminal_refresh_cursor.json');
    const state: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (!isObject(state)) return { offset: 0, deferred: [] };
    const offset = own(state, 'offset');
    const deferred = own(state, 'deferred');
    return {
      offset: typeof offset === 'number' && Number.isSafeInteger(offset) && offset >= 0 ? offset : 0,
      deferred: isObject(deferred) ? Object.keys(deferred) : [],
    };
  } catch {
    return { offset: 0, deferred: [] };
  }
}

import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger, OpenLedgerOptions } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { onTestFinished, TestRunner } from 'vitest';

/** A data root whose files a test writes, cuts and damages, as crashes and other programs do. */
export interface JsonlRoot {
  readonly path: string;
  /** The live log. */
  readonly log: string;
  readonly archive: string;
  /** Opens the root; the end of the test closes it. */
  open(options?: OpenLedgerOptions): Promise<Ledger>;
  /** Replaces the live log. */
  write(...pieces: readonly (string | Uint8Array)[]): void;
  /** Adds bytes to the live log, as any program may. */
  append(...pieces: readonly (string | Uint8Array)[]): void;
  /** The lines of the live log, without newlines; what follows the last newline is the last one. */
  lines(): readonly string[];
  /** Names of the rotated segments, sorted. */
  segments(): readonly string[];
  /** Closes and removes it now, so that a test may make thousands of them; harmless when it is gone. */
  remove(): Promise<void>;
}

/** What removes the roots that a test has not removed itself. */
const leftRoots = new WeakMap<object, Set<() => Promise<void>>>();

/** One hook for all roots of a test: each hook is kept to its end, with all that it knows of. */
function rootsOfTest(): Set<() => Promise<void>> {
  const test = TestRunner.getCurrentTest();
  if (test === undefined) throw new Error('a root is made inside of a test');
  const known = leftRoots.get(test);
  if (known !== undefined) return known;
  const left = new Set<() => Promise<void>>();
  leftRoots.set(test, left);
  onTestFinished(async () => {
    leftRoots.delete(test);
    for (const remove of left) await remove();
  });
  return left;
}

/** Makes an empty root; the end of the test removes it. */
export function jsonlRoot(dialect: 'custody' | 'ouroboros' = 'custody'): JsonlRoot {
  const path = mkdtempSync(join(tmpdir(), 'custody-root-'));
  const handles: Ledger[] = [];
  const left = rootsOfTest();
  const remove = async () => {
    left.delete(remove);
    for (const handle of handles.splice(0)) await handle.close();
    rmSync(path, { recursive: true, force: true });
  };
  left.add(remove);
  const log = join(path, 'logs', 'events.jsonl');
  const archive = join(path, 'archive');
  mkdirSync(join(path, 'logs'));
  mkdirSync(archive);
  const joined = (pieces: readonly (string | Uint8Array)[]) =>
    Buffer.concat(pieces.map((piece) => Buffer.from(piece as Uint8Array)));
  return {
    path,
    log,
    archive,
    open: async (options = {}) => {
      const ledger = await openLedger(`jsonl:${path}?dialect=${dialect}`, options);
      handles.push(ledger);
      return ledger;
    },
    write: (...pieces) => writeFileSync(log, joined(pieces)),
    append: (...pieces) => appendFileSync(log, joined(pieces)),
    lines: () => readFileSync(log, 'utf8').split('\n'),
    segments: () => readdirSync(archive).sort(),
    remove,
  };
}

/** An event as a line of a log. */
export function line(event: object): string {
  return `${JSON.stringify(event)}\n`;
}

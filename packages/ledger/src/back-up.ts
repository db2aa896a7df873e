import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseStoreUrl } from './core/store-url.ts';
import { StoreError, UsageError } from './errors.ts';
import { openLedger } from './open-ledger.ts';
import type { VerifyReport } from './ports/ledger-store.ts';

/** How a backup is made. */
export interface BackUpOptions {
  /** Replace what stands at the path. @default false */
  readonly overwrite?: boolean;
  readonly onProgress?: (progress: { readonly pages_done: number; readonly pages_total: number }) => void;
}

/** A backup that was written and proved. */
export interface BackUpDone {
  readonly outcome: 'written';
  readonly file: string;
  readonly bytes: number;
  /** What a check of the copy, tables included, found. */
  readonly verified: Pick<VerifyReport, 'events' | 'head_seq' | 'head_hash'>;
}

/** Nothing was written: something stands at the path. */
export interface BackUpRefused {
  readonly outcome: 'refused';
  readonly reason: 'file_exists';
  readonly file: string;
}

/**
 * Copies a SQLite store, while others write it, as of one moment. The copy is made beside its place, checked against
 * a replay of its own log, and only then put there: whatever happens, the path holds a whole backup or what it held.
 *
 * @throws UsageError `not_supported` for any other store.
 * @throws StoreError `store_corrupt` if the copy does not verify; `store_unreadable` if it can't be written.
 */
export async function backUp(
  url: string,
  file: string,
  { overwrite = false, onProgress = () => undefined }: BackUpOptions = {},
): Promise<BackUpDone | BackUpRefused> {
  const location = parseStoreUrl(url);
  if (location.kind !== 'sqlite') throw notSupported(location.kind);
  // A store that is missing, damaged or somebody else's is told before anything is written.
  await (await openLedger(url, { create: false, readOnly: true })).close();
  const refused = { outcome: 'refused', reason: 'file_exists', file } as const;
  if (!overwrite && existsSync(file)) return refused;
  const sibling = join(dirname(file), `.${basename(file)}.${randomUUID()}.tmp`);
  try {
    const { copyOnline } = await import('./adapters/sqlite/copy-online.ts');
    await copyOnline(location.path, sibling, onProgress);
    const { events, head_seq, head_hash } = await proved(sibling);
    const bytes = statSync(sibling).size;
    if (!place(sibling, file, overwrite)) return refused;
    return { outcome: 'written', file, bytes, verified: { events, head_seq, head_hash } };
  } finally {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(sibling + end, { force: true });
  }
}

/** The report on a copy that verifies. */
async function proved(path: string): Promise<VerifyReport> {
  await using ledger = await openLedger(`sqlite:${path}`, { create: false, readOnly: true });
  const report = await ledger.verify({ rebuild: true });
  const [problem] = report.problems;
  if (report.ok || problem === undefined) return report;
  throw new StoreError('store_corrupt', `the copy does not verify: ${problem.code}, ${problem.message}`, {
    hint: 'The store has the same fault: run custody verify --rebuild on it. No backup was written.',
    facts: { problem: problem.code, ...(problem.seq === undefined ? {} : { seq: problem.seq }) },
  });
}

/** Puts the copy in its place in one step; false if something came to stand there meanwhile. */
function place(sibling: string, file: string, overwrite: boolean): boolean {
  if (overwrite) renameSync(sibling, file);
  else if (!linked(sibling, file)) return false;
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
  return true;
}

/** A link replaces nothing, a rename does. Where a file system has no links the check from before must do. */
function linked(sibling: string, file: string): boolean {
  try {
    linkSync(sibling, file);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EEXIST') return false;
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP') throw error;
    renameSync(sibling, file);
    return true;
  }
}

function notSupported(kind: string): UsageError {
  return new UsageError('not_supported', `a ${kind} store has no backup of its own`, {
    hint: HINTS[kind] ?? 'custody event export writes the log of any store, without the rows.',
    facts: { store_kind: kind },
  });
}

const HINTS: Readonly<Record<string, string>> = {
  jsonl: 'Take a snapshot of its file system, or import it into a SQLite store and back that up.',
  postgres: 'Use pg_dump, or the backups of its server; custody event export writes the log.',
  http: 'Run it where the store is served, on the store itself.',
  memory: 'Nothing of it outlives its process.',
};

import { viewChain } from '../adapters/jsonl/chain-view.ts';
import { lookAtFaults } from '../adapters/jsonl/compact-faults.ts';
import type { RootPaths } from '../adapters/jsonl/root-paths.ts';
import { rootPaths } from '../adapters/jsonl/root-paths.ts';
import { listRowNames, readRowFile, rowPath } from '../adapters/jsonl/row-files.ts';
import { lacksNewline } from '../adapters/jsonl/torn-lines.ts';
import { InvalidRowError } from '../errors.ts';
import type { Ledger } from '../shell/ledger.ts';
import { EventSink } from './event-sink.ts';
import type { ImportOptions, ImportResult } from './import-result.ts';
import { LineSource } from './line-source.ts';

/**
 * Imports a data root: its log, the faults that only their compact copy holds, and its rows.
 *
 * @throws StoreError `log_unreadable` if a part of the log can't be read.
 */
export async function importRoot(
  ledger: Ledger,
  directory: string,
  options: ImportOptions,
): Promise<ImportResult> {
  const paths = rootPaths(directory);
  const view = viewChain(paths);
  if (!view.readable) throw view.error;
  const total = view.segments.reduce((sum, segment) => sum + segment.size, 0);
  const sink = new EventSink(ledger, total, options);
  const source = new LineSource(sink);
  let start = 0;
  for (const segment of view.segments) {
    await source.take(segment, start);
    if (lacksNewline(segment)) sink.skip('torn', 'cut when it was written');
    start += segment.size;
  }
  const faults = lookAtFaults(paths);
  if (faults !== null) await source.takeCopies(faults);
  await sink.flush(total);
  await importRows(ledger, paths, sink);
  return sink.result(total);
}

/** Each row on its own: one that can't be read or taken is named, and never stops the others. */
async function importRows(ledger: Ledger, paths: RootPaths, sink: EventSink): Promise<void> {
  for (const taskId of listRowNames(paths).taskIds) {
    const message = await importRow(ledger, paths, { taskId, sink });
    if (message === null) continue;
    sink.counts.rowsSkipped += 1;
    sink.report({ place: rowPath(paths, taskId), task_id: taskId, message });
  }
}

/** Why a row was not taken; null if it was, or if the ledger has it already. */
async function importRow(
  ledger: Ledger,
  paths: RootPaths,
  { taskId, sink }: { readonly taskId: string; readonly sink: EventSink },
): Promise<string | null> {
  try {
    const file = readRowFile(paths, taskId);
    if (file === null) return null;
    const [result] = await ledger.rows.put([file.row]);
    if (result?.outcome === 'written') sink.counts.rowsWritten += 1;
    return result?.outcome === 'refused'
      ? `the ledger's row is terminal and differs in ${result.fields.join(', ')}`
      : null;
  } catch (error) {
    if (error instanceof InvalidRowError) return error.message;
    throw error;
  }
}

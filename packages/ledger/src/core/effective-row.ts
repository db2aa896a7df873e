import { isId } from './ids.ts';
import { isJsonObject, textOf, textsOf } from './json.ts';
import { printCompact, toRaw } from './raw-json.ts';
import { overlayReplica } from './replica-overlay.ts';
import type { TaskRow } from './task-row.ts';
import { toTaskRow } from './task-row.ts';

/** A row by its task id; null if there is none. */
export type RowLookup = (taskId: string) => TaskRow | null;

/** The copy of a row that its child kept on a drive of its own; null if there is none that can be read. */
export type ReplicaLookup = (row: TaskRow) => TaskRow | null;

/** Retries followed at most. No orchestrator retries that often; a longer chain is shown as far as this. */
export const MAX_RETRIES = 1000;

const DRIVE_KEYS = ['child_drive_root', 'headless_child_drive_root', 'drive_root'];

const LIST = 'delegated_runs_unreconciled';

/**
 * The row as a reader should see it: the last retry's row with its replica overlaid, and the lineage that led
 * there (docs/contracts/custody.md, 9.1 and 9.2). Computed at each read and never stored, so clearing an
 * original's list ends the inheritance at once.
 */
export function effectiveRow(row: TaskRow, rows: RowLookup, replicas: ReplicaLookup): TaskRow {
  const chain = retryChain(row, rows);
  const last = chain.at(-1) ?? row;
  const replica = takesReplica(last) ? replicas(last) : null;
  const shown = replica === null ? last : overlayReplica(last, replica);
  return withLineage(shown, chain.slice(0, -1));
}

/** The task that took the row's work over; empty if none did. */
export function retryIdOf(row: TaskRow): string {
  const id = textOf(row.value, 'superseded_by') || textOf(row.value, 'retry_task_id');
  return isId(id) && id !== row.task_id ? id : '';
}

/** The row and its retries, oldest first. Ends before a task that is unknown or was visited already. */
function retryChain(row: TaskRow, rows: RowLookup): readonly TaskRow[] {
  const chain = [row];
  const visited = new Set([row.task_id]);
  for (let id = retryIdOf(row); id !== '' && !visited.has(id) && chain.length <= MAX_RETRIES; ) {
    const next = rows(id);
    if (next === null) break;
    chain.push(next);
    visited.add(id);
    id = retryIdOf(next);
  }
  return chain;
}

/** The drives on which a child may have left its copy of the row, the likeliest first. */
export function childDrivesOf(row: TaskRow): readonly string[] {
  const metadata = row.value['metadata'];
  const sources = [row.value, isJsonObject(metadata) ? metadata : {}];
  const drives = sources.flatMap((source) => DRIVE_KEYS.map((key) => textOf(source, key).trim()));
  return [...new Set(drives.filter((drive) => drive !== ''))];
}

/** A cancelled task takes nothing back from its child. */
export function takesReplica(row: TaskRow): boolean {
  return row.status !== 'cancelled';
}

/** The shown row with the rows that it replaces, oldest first. */
function withLineage(shown: TaskRow, originals: readonly TaskRow[]): TaskRow {
  const nearest = originals.at(-1);
  if (nearest === undefined) return shown;
  const raw = new Map(shown.raw);
  const entries = originals.map((original, index) =>
    lineageEntry(original, originals[index + 1]?.task_id ?? shown.task_id),
  );
  raw.set('retry_lineage', prepend(entries, raw.get('retry_lineage')));
  for (const key of ['original_task_id', 'supersedes_task_id']) {
    if (!raw.has(key)) raw.set(key, JSON.stringify(nearest.task_id));
  }
  const inherited = inheritedList(shown, originals);
  if (inherited !== null) raw.set(LIST, toRaw(inherited));
  return toTaskRow(raw, shown.task_id);
}

function lineageEntry(original: TaskRow, retryId: string): string {
  const rawOf = (key: string) => original.raw.get(key) ?? 'null';
  return printCompact(
    new Map([
      ['task_id', JSON.stringify(original.task_id)],
      ['status', rawOf('status')],
      ['outcome_axes', rawOf('outcome_axes')],
      ['reason_code', rawOf('reason_code')],
      ['retry_task_id', JSON.stringify(retryId)],
    ]),
  );
}

/** Puts entries before those of a list's text, which keeps its spelling; anything but a list is replaced. */
function prepend(entries: readonly string[], list: string | undefined): string {
  const rest = /^\[(.*)\]$/s.exec(list?.trim() ?? '')?.[1] ?? '';
  return `[${entries.join(', ')}${rest.trim() === '' ? '' : `, ${rest}`}]`;
}

/** The retry's own list, then what its originals still disclose, nearest first; null if no original has a list. */
function inheritedList(shown: TaskRow, originals: readonly TaskRow[]): readonly string[] | null {
  const disclosing = originals.filter((original) => Array.isArray(original.value[LIST]));
  if (disclosing.length === 0) return null;
  const inherited = disclosing.reverse().flatMap((original) => textsOf(original.value[LIST]));
  return [...new Set([...textsOf(shown.value[LIST]), ...inherited])].filter((token) => token !== '');
}

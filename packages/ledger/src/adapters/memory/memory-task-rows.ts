import { compareCodePoints } from '../../core/json.ts';
import { MANAGED_KEYS, managedRow } from '../../core/managed/managed-row.ts';
import type { NewEvent } from '../../core/recorded-event.ts';
import type { TaskRow } from '../../core/task-row.ts';
import { isTerminalStatus, mergeRow, NO_KEYS, withLiveFields } from '../../core/task-row.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  LoadedRow,
  OwnTaskRows,
  RowPutResult,
  RowUpdate,
  RowUpdateResult,
} from '../../ports/task-rows.ts';
import type { MemoryLog } from './memory-event-store.ts';

interface Slot {
  row: TaskRow;
  version: number;
  needsCheck: boolean;
}

/** Every row by its task. */
export type RowSlots = Map<string, Slot>;

/** Rows in a map; a row and its evidence change together because nothing awaits in between. */
export function memoryTaskRows(
  log: MemoryLog,
  options: {
    readonly slots: RowSlots;
    readonly clock: Clock;
    readonly appendEvidence: (event: NewEvent) => Promise<void>;
  },
): OwnTaskRows & Required<Pick<OwnTaskRows, 'confirm'>> {
  const { slots } = options;
  log.onTouched = (taskIds) => {
    for (const id of taskIds) {
      const slot = slots.get(id);
      if (slot !== undefined) slot.needsCheck = true;
    }
  };

  log.onManaged = (taskIds) => {
    for (const id of taskIds) {
      const task = log.managed.tasks.get(id);
      const slot = slots.get(id);
      if (task === undefined) continue;
      const row = managedRow(slot?.row ?? null, task);
      if (row !== null) slots.set(id, { row, version: (slot?.version ?? 0) + 1, needsCheck: true });
    }
  };

  function ordered(): readonly [string, Slot][] {
    return [...slots].sort(([a], [b]) => compareCodePoints(a, b));
  }

  function put(row: TaskRow): RowPutResult {
    const slot = slots.get(row.task_id);
    const merge = mergeRow(
      slot?.row ?? null,
      row,
      new Date(options.clock.now()).toISOString(),
      ownedKeys(log, row.task_id),
    );
    if (merge.outcome === 'refused')
      return { outcome: 'refused', reason: 'row_frozen', task_id: row.task_id, fields: merge.fields };
    if (merge.outcome === 'written') {
      slots.set(row.task_id, { row: merge.row, version: (slot?.version ?? 0) + 1, needsCheck: true });
    }
    return { outcome: merge.outcome, task_id: row.task_id };
  }

  async function updateOne(update: RowUpdate): Promise<RowUpdateResult> {
    const slot = slots.get(update.task_id);
    if (slot === undefined) return { outcome: 'gone' };
    const lastSeq = log.fold.tasks.get(update.task_id)?.last_seq ?? 0;
    if (String(slot.version) !== update.expected_version || lastSeq !== update.custody_seq)
      return { outcome: 'changed_meanwhile' };
    slot.row = withLiveFields(slot.row, update.live);
    slot.version += 1;
    slot.needsCheck = !update.confirms;
    await options.appendEvidence(update.evidence);
    return { outcome: 'updated', evidence: 'recorded' };
  }

  return {
    load: async (taskId) => toLoaded(slots.get(taskId)),
    selectStale: async () =>
      ordered().flatMap(([id, slot]) => (slot.needsCheck && isTerminalStatus(slot.row.status) ? [id] : [])),
    update: async (updates) => {
      const results: RowUpdateResult[] = [];
      for (const update of updates) results.push(await updateOne(update));
      return results;
    },
    confirm: async (rows) => {
      for (const { task_id, version, custody_seq } of rows) {
        const slot = slots.get(task_id);
        const lastSeq = log.fold.tasks.get(task_id)?.last_seq ?? 0;
        if (slot !== undefined && String(slot.version) === version && lastSeq === custody_seq)
          slot.needsCheck = false;
      }
    },
    count: async () => slots.size,
    put: async (rows) => rows.map(put),
    async *list(query): AsyncGenerator<LoadedRow, void> {
      for (const [, slot] of ordered()) {
        const loaded = toLoaded(slot);
        if (loaded !== null && (query.status === undefined || slot.row.status === query.status)) yield loaded;
      }
    },
  };
}

/** The fields that only commands write; none on rows that are not ours. */
function ownedKeys(log: MemoryLog, taskId: string): ReadonlySet<string> {
  return log.managed.tasks.has(taskId) ? MANAGED_KEYS : NO_KEYS;
}

function toLoaded(slot: Slot | undefined): LoadedRow | null {
  return slot === undefined ? null : { row: slot.row, version: String(slot.version) };
}

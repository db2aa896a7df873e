import { LedgerError } from '../errors.ts';
import type { JsonObject } from './json.ts';
import { textsOf } from './json.ts';
import { managedRow } from './managed/managed-row.ts';
import type { ManagedTask } from './managed/managed-task.ts';
import { parseRawObject } from './raw-json.ts';
import type { RecordedEvent } from './recorded-event.ts';
import { LEDGER_KEYS } from './recorded-event.ts';
import type { TaskRow } from './task-row.ts';
import { mergeRow, toTaskRow, withLiveFields } from './task-row.ts';

/** Keys of an event that are no fields of the row that it records. */
const ENVELOPE_KEYS: ReadonlySet<string> = new Set([...LEDGER_KEYS, 'id', 'type', 'at', 'run_id']);

/** Task rows as far as a log tells of them: what orchestrators recorded, what commands wrote, what heals listed. */
export class PastRows {
  readonly #rows = new Map<string, TaskRow>();

  get(taskId: string): TaskRow | null {
    return this.#rows.get(taskId) ?? null;
  }

  taskIds(): Iterable<string> {
    return this.#rows.keys();
  }

  /** Takes what an event of an observed task says of its row. Events that say nothing change nothing. */
  apply(event: RecordedEvent): void {
    if (event.type === 'task.recorded') this.#record(event);
    if (event.type === 'custody.reconciled' || event.type === 'custody.unreconciled') this.#heal(event);
  }

  /** Takes what a command left of its task. */
  applyManaged(task: ManagedTask): void {
    const row = managedRow(this.get(task.task_id), task);
    if (row !== null) this.#rows.set(task.task_id, row);
  }

  #record(event: RecordedEvent): void {
    const incoming = recordedRow(event);
    if (incoming === null) return;
    const merge = mergeRow(this.get(incoming.task_id), incoming, event.recorded_at);
    if (merge.outcome === 'written') this.#rows.set(incoming.task_id, merge.row);
  }

  /** The event of a heal has the list that it left, and not what else it wrote. */
  #heal(event: RecordedEvent): void {
    const { task_id: taskId } = event;
    const row = typeof taskId === 'string' ? this.get(taskId) : null;
    if (row === null) return;
    const list = { delegated_runs_unreconciled: textsOf(event['run_ids']) };
    this.#rows.set(row.task_id, withLiveFields(row, list));
  }
}

/** The row that an event records; null if it is none. */
function recordedRow(event: RecordedEvent): TaskRow | null {
  const fields: JsonObject = Object.fromEntries(
    Object.entries(event).filter(([key]) => !ENVELOPE_KEYS.has(key)),
  );
  try {
    return toTaskRow(parseRawObject(JSON.stringify(fields)));
  } catch (error) {
    if (error instanceof LedgerError) return null;
    throw error;
  }
}

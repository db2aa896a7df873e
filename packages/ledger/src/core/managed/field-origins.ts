import type { RecordedEvent } from '../recorded-event.ts';
import { evolve } from './evolve.ts';
import { toManagedEvent } from './managed-event.ts';
import type { ManagedTask } from './managed-task.ts';
import { isEnded } from './managed-task.ts';
import { ARCHIVED_FIELD, rowDocument } from './row-document.ts';

/** Where a field of a managed row has its value from. */
export interface FieldOrigin {
  /** `seq` of the event that gave the field the value that it has. */
  readonly seq: number;
  /** True if no command changes the field any more. */
  readonly frozen: boolean;
}

/**
 * Replays the events of a managed task, in their order, and tells for every field of its row which of them gave
 * it its value. Empty for a task that no command created.
 */
export function fieldOrigins(
  taskId: string,
  events: readonly RecordedEvent[],
): ReadonlyMap<string, FieldOrigin> {
  const seqs = new Map<string, number>();
  const texts = new Map<string, string>();
  let task: ManagedTask | null = null;
  for (const recorded of events) {
    const event = toManagedEvent(recorded);
    if (event === null || event.task_id !== taskId) continue;
    task = evolve(task, event);
    for (const [field, value] of Object.entries(task === null ? {} : rowDocument(task))) {
      const text = JSON.stringify(value);
      if (texts.get(field) === text) continue;
      texts.set(field, text);
      seqs.set(field, event.seq);
    }
  }
  const isOver = task !== null && isEnded(task);
  const isArchived = task?.archived === true;
  return new Map(
    [...seqs].map(([field, seq]) => [
      field,
      { seq, frozen: isOver && (field !== ARCHIVED_FIELD || isArchived) },
    ]),
  );
}

import type { AppendRequest } from '../../core/append-plan.ts';
import { planAppend } from '../../core/append-plan.ts';
import { toAppendResult } from '../../core/append-result.ts';
import type { CustodyFold } from '../../core/custody-fold.ts';
import { GENESIS_HASH } from '../../core/event-hash.ts';
import type { ManagedFold } from '../../core/managed/managed-fold.ts';
import type { RecordedEvent, StoredEvent } from '../../core/recorded-event.ts';
import { InvalidEventError } from '../../errors.ts';
import type { Clock, NewId } from '../../ports/clock.ts';
import type { AppendOutcome, EventQuery, EventStore, Head } from '../../ports/event-store.ts';

/** The state of a memory ledger that its parts share. */
export interface MemoryLog {
  readonly stored: StoredEvent[];
  readonly byId: Map<string, RecordedEvent>;
  readonly fold: CustodyFold;
  readonly managed: ManagedFold;
  epoch: number;
  readonly incarnation: string;
  /** Called once after each commit, by those who wait for one. */
  readonly waiters: Set<() => void>;
  /** Called with the tasks that a commit touched. */
  onTouched: (taskIds: Iterable<string>) => void;
  /** Called with the managed tasks that a commit changed. */
  onManaged: (taskIds: Iterable<string>) => void;
}

/** Where a memory log stands. */
function headOf(log: MemoryLog): Head {
  const last = log.stored.at(-1)?.event;
  return {
    seq: last?.seq ?? 0,
    hash: last?.hash ?? GENESIS_HASH,
    epoch: log.epoch,
    incarnation: log.incarnation,
  };
}

/** Appends without waiting for anything, so that nothing can come in between. */
export function appendToMemory(
  log: MemoryLog,
  requests: readonly AppendRequest[],
  { now, newId }: { readonly now: number; readonly newId: NewId },
): readonly AppendOutcome[] {
  const plan = planAppend(requests, {
    head: headOf(log),
    recordedAt: new Date(now).toISOString(),
    known: log.byId,
    fold: log.fold,
    managed: log.managed,
    newId,
  });
  for (const item of plan.stored) {
    log.stored.push(item);
    log.byId.set(item.event.id, item.event);
  }
  log.onTouched(log.fold.changed.tasks);
  log.fold.changed.tasks.clear();
  log.onManaged(log.managed.changed.tasks);
  log.managed.clearChanged();
  for (const wake of [...log.waiters]) wake();
  return plan.outcomes.map((outcome) =>
    outcome instanceof InvalidEventError ? outcome : toAppendResult(outcome.events),
  );
}

/** The reference implementation of the log. */
export function memoryEventStore(log: MemoryLog, clock: Clock, newId: NewId): EventStore {
  return {
    append: async (requests) => appendToMemory(log, requests, { now: clock.now(), newId }),
    async *read(query: EventQuery): AsyncGenerator<StoredEvent, void> {
      let left = query.limit ?? Number.POSITIVE_INFINITY;
      // By position, so that events appended while reading are seen, as in every other store.
      for (
        let index = query.after ?? 0;
        index < Math.min(query.upTo ?? Number.POSITIVE_INFINITY, log.stored.length);
        index += 1
      ) {
        const item = log.stored[index];
        if (item === undefined || left <= 0) return;
        if (!matches(item.event, query)) continue;
        left -= 1;
        yield item;
      }
    },
    head: async () => headOf(log),
  };
}

function matches(event: RecordedEvent, query: EventQuery): boolean {
  if (query.taskId !== undefined && event['task_id'] !== query.taskId) return false;
  if (query.runId !== undefined && event['run_id'] !== query.runId) return false;
  return query.type === undefined || event.type === query.type;
}

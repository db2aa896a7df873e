import { memoryCustodyReader } from './adapters/memory/memory-custody-reader.ts';
import { CustodyFold } from './core/custody-fold.ts';
import { ManagedFold } from './core/managed/managed-fold.ts';
import type { Lease } from './core/managed/managed-task.ts';
import { isEnded } from './core/managed/managed-task.ts';
import type { GrowingCustody, TaskCustody } from './core/obligations.ts';
import { emptyCustody } from './core/obligations.ts';
import { PastRows } from './core/past-rows.ts';
import type { Question } from './core/questions/question.ts';
import { isUnanswered } from './core/questions/question.ts';
import type { RecordedEvent } from './core/recorded-event.ts';
import { toEpochMillis } from './core/time.ts';
import type { CustodyReader } from './ports/custody-reader.ts';
import type { LoadedRow } from './ports/task-rows.ts';
import type { Ledger } from './shell/ledger.ts';

/** Where the past ends: with an event, or with the last one that the ledger had taken at a moment. */
export type PastCut = { readonly seq: number } | { readonly atMs: number };

/** A ledger as it stood, told by its log alone. */
export interface Past {
  /** `seq` of the newest event that it knows; 0 for a ledger that was still empty. */
  readonly seq: number;
  /** The moment that was asked for, or `recorded_at` of the newest event; null if that is before the first event. */
  readonly at: string | null;
  readonly custody: CustodyReader;
  /** Rows as far as the log tells of them. What an orchestrator wrote without recording it is not there. */
  readonly rows: {
    load(taskId: string): Promise<LoadedRow | null>;
    taskIds(): readonly string[];
  };
  readonly questions: { list(filter: { readonly open: true }): Promise<readonly Question[]> };
  /** Leases of tasks that were held. Signs of life are in no log, so nobody knows which had run out. */
  readonly leases: readonly Lease[];
}

/**
 * Replays a log up to a cut. Costs a read of the log up to there, and memory for what stands in it by key.
 * A moment is compared with `recorded_at`: the past ends before the first event that was recorded after it.
 */
export async function openPast(ledger: Pick<Ledger, 'read'>, cut: PastCut): Promise<Past> {
  const fold = new CustodyFold();
  const managed = new ManagedFold();
  const rows = new PastRows();
  const seen = { length: 0 };
  let last: RecordedEvent | null = null;
  for await (const { event } of ledger.read('seq' in cut ? { upTo: cut.seq } : {})) {
    if ('atMs' in cut && toEpochMillis(event.recorded_at) > cut.atMs) break;
    fold.apply(event);
    rows.apply(event);
    managed.apply(event);
    for (const taskId of managed.changed.tasks) {
      const task = managed.tasks.get(taskId);
      if (task !== undefined) rows.applyManaged(task);
    }
    managed.clearChanged();
    seen.length += 1;
    last = event;
  }
  return {
    seq: last?.seq ?? 0,
    at: 'atMs' in cut ? new Date(cut.atMs).toISOString() : (last?.recorded_at ?? null),
    custody: pastReader(fold, seen),
    rows: {
      load: async (taskId) => {
        const row = rows.get(taskId);
        return row === null ? null : { row, version: '' };
      },
      taskIds: () => [...rows.taskIds()],
    },
    questions: { list: async () => openQuestions(managed) },
    leases: [...managed.leases.values()].filter((lease) => lease.open),
  };
}

function openQuestions(managed: ManagedFold): readonly Question[] {
  return [...managed.questions.values()]
    .filter((question) => {
      const task = managed.tasks.get(question.task_id);
      return isUnanswered(question) && (task === undefined || !isEnded(task));
    })
    .sort((a, b) => a.asked_seq - b.asked_seq);
}

/** The reader of the memory store; tasks are grouped once, because nothing is appended to the past. */
function pastReader(fold: CustodyFold, stored: { readonly length: number }): CustodyReader {
  const custodies = groupByTask(fold);
  return {
    ...memoryCustodyReader({ fold, stored }),
    tasks: async (ids) => new Map(ids.map((id) => [id, custodies.get(id) ?? emptyCustody(id)])),
  };
}

function groupByTask(fold: CustodyFold): ReadonlyMap<string, TaskCustody> {
  const groups = new Map<string, GrowingCustody>();
  const of = (taskId: string): GrowingCustody => {
    const group = groups.get(taskId) ?? emptyCustody(taskId);
    groups.set(taskId, group);
    return group;
  };
  for (const run of fold.runs.values()) if (run.started) of(run.task_id).runs.push(run);
  for (const item of fold.invocations.values()) if (item.requested) of(item.task_id).invocations.push(item);
  for (const item of fold.evidence.values()) of(item.task_id).evidence.push(item);
  for (const facts of fold.tasks.values()) of(facts.task_id).facts = facts;
  for (const group of groups.values()) {
    group.runs.sort((a, b) => a.first_seq - b.first_seq);
    group.invocations.sort((a, b) => a.first_seq - b.first_seq);
    const own = new Set(group.runs.map((run) => run.run_id));
    group.foreign_runs = group.evidence.flatMap((item) =>
      own.has(item.run_id) ? [] : (fold.runs.get(item.run_id) ?? []),
    );
  }
  return groups;
}

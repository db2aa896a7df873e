import type { RunEvidence } from './run-evidence.ts';

/** A task and a run as one text, for those who compare records by key. */
export function evidenceKey(item: Pick<RunEvidence, 'task_id' | 'run_id'>): string {
  return `${item.task_id}\u0000${item.run_id}`;
}

/**
 * What the rows of each task say of each run, found by run and task. Nearly always one task's rows speak of a run,
 * so a run has its one record beside its id, and a map of them only from the second task on. No key is joined: a
 * joined text is built and hashed anew for every event.
 */
export class EvidenceByRun {
  readonly #byRun = new Map<string, RunEvidence | Map<string, RunEvidence>>();

  /** What the task's rows say of the run; undefined when they say nothing. */
  get(taskId: string, runId: string): RunEvidence | undefined {
    const known = this.#byRun.get(runId);
    if (known instanceof Map) return known.get(taskId);
    return known?.task_id === taskId ? known : undefined;
  }

  /** Puts a record in the place of what the same task's rows said of the same run before. */
  set(item: RunEvidence): void {
    const known = this.#byRun.get(item.run_id);
    if (known === undefined || (!(known instanceof Map) && known.task_id === item.task_id))
      this.#byRun.set(item.run_id, item);
    else if (known instanceof Map) known.set(item.task_id, item);
    else
      this.#byRun.set(
        item.run_id,
        new Map([
          [known.task_id, known],
          [item.task_id, item],
        ]),
      );
  }

  /** What every task's rows say of the run. */
  ofRun(runId: string): Iterable<RunEvidence> {
    const known = this.#byRun.get(runId);
    if (known === undefined) return [];
    return known instanceof Map ? known.values() : [known];
  }

  /** All records, those of one run together. */
  *values(): Generator<RunEvidence, void> {
    for (const known of this.#byRun.values()) {
      if (known instanceof Map) yield* known.values();
      else yield known;
    }
  }

  /** All records by {@link evidenceKey}. */
  *[Symbol.iterator](): Generator<readonly [string, RunEvidence], void> {
    for (const item of this.values()) yield [evidenceKey(item), item];
  }
}

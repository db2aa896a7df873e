import type { Ledger, RecordedEvent, TaskCustody } from '@custody/ledger';

/**
 * Everything recorded of a task, in the order of the log: the events that name it, and those of its runs, which in
 * logs of other writers need not repeat whose run it is.
 */
export async function eventsOfTask(ledger: Ledger, custody: TaskCustody): Promise<readonly RecordedEvent[]> {
  const bySeq = new Map<number, RecordedEvent>();
  for await (const { event } of ledger.read({ taskId: custody.task_id })) bySeq.set(event.seq, event);
  for (const run of custody.runs) {
    for await (const { event } of ledger.read({ runId: run.run_id })) bySeq.set(event.seq, event);
  }
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}

/** Everything recorded of a run, in the order of the log. */
export async function eventsOfRun(ledger: Ledger, runId: string): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for await (const { event } of ledger.read({ runId })) events.push(event);
  return events;
}

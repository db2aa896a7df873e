import type { JsonObject, NewEvent, RecordedEvent, RunRecord, TaskCustody } from '@custody/ledger';
import { CustodyFold, taskCustodyOf } from '@custody/ledger';

const START = Date.parse('2026-03-01T00:00:00.000Z');

/** Events as a log holds them: in order, one a second. Nothing is judged, so foreign values pass. */
export function recorded(events: readonly (NewEvent | JsonObject)[], after = 0): readonly RecordedEvent[] {
  return events.map((given, index) => {
    const seq = after + index + 1;
    const at = new Date(START + seq * 1000).toISOString();
    return { at, recorded_at: at, epoch: 1, hash: '', id: `e-${seq}`, ...given, seq } as RecordedEvent;
  });
}

/** The fold of a whole log. */
export function foldOf(events: readonly (NewEvent | JsonObject)[]): CustodyFold {
  const fold = new CustodyFold();
  for (const item of recorded(events)) fold.apply(item);
  return fold;
}

/** What a log says of one task. */
export function custodyOf(events: readonly (NewEvent | JsonObject)[], taskId: string): TaskCustody {
  return taskCustodyOf(foldOf(events), taskId);
}

/**
 * The record of a run.
 *
 * @throws Error if the log knows nothing of it.
 */
export function runOf(events: readonly (NewEvent | JsonObject)[], runId: string): RunRecord {
  const run = foldOf(events).runs.get(runId);
  if (run === undefined) throw new Error(`the fold has no run ${runId}`);
  return run;
}

import type { InvocationRecord, RecordedEvent, RunRecord, TaskCustody } from '@custody/ledger';
import { isReviewInvocation, isReviewOwned } from '@custody/ledger';

/** Events by what they decide about a task. */
export interface DecidingEvents {
  /** One for each run and invocation: the newest fact that decides whether something is owed of it. */
  readonly custody: readonly RecordedEvent[];
  /** Starts and first ends of the runs that the task's evidence counts. */
  readonly evidence: readonly RecordedEvent[];
}

/** Picks from everything recorded of a task the events that its live fields rest on. */
export function decidingEvents(custody: TaskCustody, events: readonly RecordedEvent[]): DecidingEvents {
  const bySeq = new Map(events.map((event) => [event.seq, event]));
  const runs = custody.runs.filter(
    (run) => run.role === 'delegate' && (!isReviewOwned(run) || run.snapshot_id !== ''),
  );
  const seqs = [
    ...runs.map((run) => decidingSeq(run, events)),
    ...custody.invocations
      .filter((item) => !item.started && !isReviewInvocation(item))
      .map((item) => invocationSeq(item, events)),
  ];
  return { custody: pick(seqs, bySeq), evidence: pick(evidenceSeqs(custody, events), bySeq) };
}

function pick(seqs: readonly number[], bySeq: ReadonlyMap<number, RecordedEvent>): readonly RecordedEvent[] {
  const sorted = [...new Set(seqs)].sort((a, b) => a - b);
  return sorted.flatMap((seq) => bySeq.get(seq) ?? []);
}

/** How a patch was dealt with decides after the end, the end after the start. */
function decidingSeq(run: RunRecord, events: readonly RecordedEvent[]): number {
  if (run.superseded_by !== '') {
    const successor = events.find(
      (event) => event.type === 'run.started' && event['run_id'] === run.superseded_by,
    );
    if (successor !== undefined) return successor.seq;
  }
  if (run.patch_disposed !== '') {
    const disposal = events.find(
      (event) => event.type === 'patch.disposed' && event['run_id'] === run.run_id,
    );
    if (disposal !== undefined) return disposal.seq;
  }
  return run.settled ? run.settled_seq : run.first_seq;
}

function invocationSeq(invocation: InvocationRecord, events: readonly RecordedEvent[]): number {
  if (!invocation.failed_definite) return invocation.first_seq;
  const refusal = events.find(
    (event) =>
      event.type === 'run.start_failed' &&
      event['invocation_id'] === invocation.invocation_id &&
      event['definite'] === true,
  );
  return refusal?.seq ?? invocation.first_seq;
}

function evidenceSeqs(custody: TaskCustody, events: readonly RecordedEvent[]): readonly number[] {
  const counted = new Set(
    custody.evidence
      .filter((item) => item.role === 'delegate' && !item.review_owned)
      .map((item) => item.run_id),
  );
  const seen = new Set<string>();
  return events.flatMap((event) => {
    const kind = event.type === 'run.started' ? 'start' : isEnd(event) ? 'end' : null;
    const runId = event['run_id'];
    if (kind === null || typeof runId !== 'string' || !counted.has(runId)) return [];
    const key = `${kind} ${runId}`;
    if (seen.has(key)) return [];
    seen.add(key);
    return [event.seq];
  });
}

function isEnd(event: RecordedEvent): boolean {
  return event.type === 'run.settled' || event.type === 'run.closed_absent';
}

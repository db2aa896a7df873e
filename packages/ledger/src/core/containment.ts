import { textOf } from './json.ts';
import type { RecordedEvent } from './recorded-event.ts';
import { toEpochMillis } from './time.ts';

/** The newest containment fault of a run beside the newest thing that closed one. */
export interface ContainmentRecord {
  readonly run_id: string;
  readonly task_id: string;
  readonly reason: string;
  readonly detail: string;
  /** `at` of the newest fault; empty when none is known. */
  readonly fault_at: string;
  /** `at` of the newest resolution, settle or absence; empty when none is known. */
  readonly closed_at: string;
}

/** Nothing known of the run's containment. */
export function emptyContainment(runId: string): ContainmentRecord {
  return { run_id: runId, task_id: '', reason: '', detail: '', fault_at: '', closed_at: '' };
}

/** Folds a fault or what closes one; resolution is by time, so a newer fault opens again. */
export function foldContainment(record: ContainmentRecord, event: RecordedEvent): ContainmentRecord {
  switch (event.type) {
    case 'containment.fault':
      if (isOlder(event.at, record.fault_at)) return record;
      return {
        ...record,
        task_id: textOf(event, 'task_id'),
        reason: textOf(event, 'reason'),
        detail: textOf(event, 'detail'),
        fault_at: event.at,
      };
    case 'containment.resolved':
    case 'run.settled':
    case 'run.closed_absent':
      return isOlder(event.at, record.closed_at) ? record : { ...record, closed_at: event.at };
    default:
      return record;
  }
}

/** True while the fault is newer than everything that closes it; a tie closes. */
export function isFaultOpen(record: ContainmentRecord): boolean {
  if (record.fault_at === '') return false;
  return record.closed_at === '' || toEpochMillis(record.fault_at) > toEpochMillis(record.closed_at);
}

function isOlder(candidate: string, known: string): boolean {
  return known !== '' && toEpochMillis(candidate) < toEpochMillis(known);
}

const MAX_DETAIL = 2000;

/**
 * A detail bounded at 2,000 characters with a note that states the original length. When the note would be
 * longer than the text it saves, the whole text passes.
 */
export function boundDetail(detail: string): string {
  if (detail.length <= MAX_DETAIL) return detail;
  const note = ` [cut here; original length ${detail.length}]`;
  return detail.length - MAX_DETAIL <= note.length ? detail : detail.slice(0, MAX_DETAIL) + note;
}

import { isTruthy, textOf } from './json.ts';
import { closingOutcome } from './managed/managed-event.ts';
import type { RecordedEvent } from './recorded-event.ts';
import type { RunRecord } from './run-record.ts';
import { mergeStart } from './run-record.ts';

/**
 * Folds one event into the run that it names (docs/contracts/custody.md, 1.6).
 * Returns the same object when nothing changed. Before the start only the run's end is remembered.
 */
export function foldRun(run: RunRecord, event: RecordedEvent): RunRecord {
  if (run.managed && MANAGED_ELSEWHERE.has(event.type)) return run;
  const outcome = closingOutcome(event);
  if (outcome !== null) return endAttempt(run, event, outcome);
  switch (event.type) {
    case 'run.started':
      return mergeStart(run, event, event);
    case 'run.ledger_recorded':
      return run.ledger_recorded ? run : { ...run, ledger_recorded: true };
    case 'run.settled':
      return settle(run, event);
    case 'run.closed_absent':
      return run.settled ? run : { ...run, settled: true, settled_seq: event.seq, settled_at: event.at };
    default:
      return run.started ? foldStartedRun(run, event) : run;
  }
}

/** Starts and ends that anybody may append; a managed attempt has its own. */
const MANAGED_ELSEWHERE: ReadonlySet<string> = new Set(['run.started', 'run.settled', 'run.closed_absent']);

/** A managed attempt ends once; a replay of the ended run changes only the word for its end. */
function endAttempt(run: RunRecord, event: RecordedEvent, outcome: string): RunRecord {
  if (!run.managed) return run;
  return {
    ...run,
    settled: true,
    settled_seq: run.settled ? run.settled_seq : event.seq,
    settled_at: run.settled ? run.settled_at : event.at,
    terminal_state: outcome,
    has_verdict: true,
  };
}

function foldStartedRun(run: RunRecord, event: RecordedEvent): RunRecord {
  switch (event.type) {
    case 'containment.unconfined':
      return { ...run, containment_disclosed: true };
    case 'output.left_unread':
      return { ...run, unread_disclosed: true };
    case 'output.spilled':
      return spill(run, event);
    case 'output.consumed':
      return consume(run, event);
    case 'patch.captured':
      return { ...run, patch_captured: true };
    case 'patch.apply_started':
      return {
        ...run,
        patch_apply_pending: true,
        patch_apply_key: textOf(event, 'apply_key') || textOf(event, 'key'),
      };
    case 'patch.apply_resolved':
      return { ...run, patch_apply_pending: false };
    case 'patch.disposed':
      return dispose(run, textOf(event, 'disposition'));
    default:
      return run;
  }
}

/** The first verdict with a state decides; an absence is no verdict, so a later settle still gives the run its state. */
function settle(run: RunRecord, event: RecordedEvent): RunRecord {
  const state = textOf(event, 'state');
  const settledSeq = run.settled ? run.settled_seq : event.seq;
  if (run.has_verdict && (run.terminal_state !== '' || state === '')) {
    const isConflict = state !== '' && state !== run.terminal_state;
    return isConflict ? { ...run, conflicting_verdicts: run.conflicting_verdicts + 1 } : run;
  }
  return {
    ...run,
    settled: true,
    settled_seq: settledSeq,
    settled_at: event.at,
    ledger_recorded: true,
    has_verdict: true,
    terminal_state: state,
    terminal_reason: textOf(event, 'outcome_reason'),
  };
}

function spill(run: RunRecord, event: RecordedEvent): RunRecord {
  const artifact = textOf(event, 'artifact');
  if (!isTruthy(event['staged']) || artifact === '') return run;
  const sha = textOf(event, 'sha256') || textOf(event, 'sha');
  const isOtherOutput = run.output_sha !== '' && sha !== '' && run.output_sha !== sha;
  return {
    ...run,
    output_artifact: artifact,
    // Exactly true: a writer that puts 1 here did not vouch for completeness.
    output_complete: event['full_content'] === true,
    output_consumed: run.output_consumed && !isOtherOutput,
    output_sha: sha,
  };
}

function consume(run: RunRecord, event: RecordedEvent): RunRecord {
  const sha = textOf(event, 'sha256') || textOf(event, 'sha');
  if (sha !== '' && run.output_sha !== '' && sha !== run.output_sha) return run;
  const reader = textOf(event, 'reader_task_id') || run.task_id;
  const isKnownReader = run.output_reader_receipts.some((receipt) => receipt.reader_task_id === reader);
  return {
    ...run,
    output_consumed: true,
    output_reader_receipts: isKnownReader
      ? run.output_reader_receipts
      : [...run.output_reader_receipts, { reader_task_id: reader }],
  };
}

function dispose(run: RunRecord, disposition: string): RunRecord {
  if (disposition === '') return run;
  return { ...run, patch_disposed: disposition, patch_apply_pending: false };
}

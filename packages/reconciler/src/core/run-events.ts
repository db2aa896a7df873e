import type { JsonObject, JsonValue, NewEvent, RunRecord } from '@custody/ledger';
import { boundDetail, factOf, isOutputUnread } from '@custody/ledger';
import { reconcileId } from './reconcile-id.ts';
import type { TerminalDetail } from './terminal-detail.ts';

/** Foreign text as the log can hold it. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '');
}

/** Bounded first: the cut may split a pair of surrogates. */
function boundedText(text: string): string {
  return storableText(boundDetail(text));
}

function ofRun(run: RunRecord): {
  readonly run_id: string;
  readonly task_id: string;
  readonly route: string;
} {
  return { run_id: run.run_id, task_id: run.task_id, route: factOf(run, 'route') };
}

/** The end of a run, as its executor told it. */
export function settledEvent(run: RunRecord, detail: TerminalDetail): NewEvent {
  const isDisclosed = detail.spend_disclosed ?? detail.cost_usd !== null;
  const isEstimated = detail.spend_estimated ?? false;
  return {
    ...ofRun(run),
    id: reconcileId('settled', run.run_id),
    type: 'run.settled',
    source: factOf(run, 'source'),
    state: detail.state,
    cost_usd: isDisclosed ? detail.cost_usd : null,
    cost_final: detail.cost_final ?? (isDisclosed && !isEstimated),
    spend_disclosed: isDisclosed,
    spend_estimated: isEstimated,
    ...texts(detail, ['model', 'credential_profile_id', 'access_profile', 'outcome_reason']),
  };
}

function texts(detail: TerminalDetail, names: readonly (keyof TerminalDetail)[]): JsonObject {
  const found: Record<string, JsonValue> = {};
  for (const name of names) {
    const value = detail[name];
    if (typeof value === 'string' && value !== '') found[name] = boundedText(value);
  }
  return found;
}

/** The cost of a run was booked outside. */
export function ledgerRecordedEvent(run: RunRecord): NewEvent {
  return { ...ofRun(run), id: reconcileId('ledger_recorded', run.run_id), type: 'run.ledger_recorded' };
}

/** The cost of an ended run could not be booked. Told once a run: each later attempt says the same. */
export function settleFailedEvent(run: RunRecord, step: string, reason: string): NewEvent {
  return {
    ...ofRun(run),
    id: reconcileId('settle_failed', run.run_id, step),
    type: 'run.settle_failed',
    step,
    reason: boundedText(reason),
  };
}

/** The executor has no such run. */
export function closedAbsentEvent(run: RunRecord, reason: string): NewEvent {
  return {
    ...ofRun(run),
    id: reconcileId('absent', run.run_id),
    type: 'run.closed_absent',
    source: factOf(run, 'source'),
    reason,
  };
}

/** Complete output that nobody has read, told once a run; null when there is nothing to tell. */
export function leftUnreadEvent(run: RunRecord): NewEvent | null {
  if (run.unread_disclosed || !isOutputUnread({ ...run, settled: true })) return null;
  return {
    ...ofRun(run),
    id: reconcileId('left_unread', run.run_id),
    type: 'output.left_unread',
    artifact: run.output_artifact,
  };
}

/** A run that could not be verified: it may be live. */
export function faultEvent(run: RunRecord, reason: string, detail: string): NewEvent {
  return {
    ...ofRun(run),
    type: 'containment.fault',
    project_id: run.project_id,
    reason,
    detail: boundedText(detail),
  };
}

/** A fault that an end has closed. */
export function faultResolvedEvent(run: RunRecord, reason: string): NewEvent {
  return {
    ...ofRun(run),
    id: reconcileId('resolved', run.run_id, reason),
    type: 'containment.resolved',
    reason,
  };
}

/** The patch of an ended run was taken out of its snapshot. */
export function patchCapturedEvent(run: RunRecord, facts: JsonObject): NewEvent {
  return {
    ...facts,
    ...ofRun(run),
    id: reconcileId('patch_captured', run.run_id),
    type: 'patch.captured',
    snapshot_id: run.snapshot_id,
  };
}

/** What a reader is told of the run's output; nothing when it left none. */
export function outputFacts(run: RunRecord): JsonObject {
  if (run.output_artifact === '') return {};
  return {
    staged_output: run.output_artifact,
    staged_output_complete: run.output_complete,
    staged_output_consumed: run.output_consumed,
  };
}

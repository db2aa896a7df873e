import type { InvocationRecord, JsonObject, RunRecord } from '@custody/ledger';
import { isJsonObject, isReviewInvocation, isReviewOwned } from '@custody/ledger';
import { mayStop } from '../core/owner-verdict.ts';
import { reconcileId } from '../core/reconcile-id.ts';
import type { ReconcileOutcome } from '../core/reconcile-outcome.ts';
import { outputFacts, storableText } from '../core/run-events.ts';
import { startedEvent, startFailedEvent } from '../core/start-events.ts';
import { toSubmission } from '../core/submission.ts';
import type { TerminalDetail } from '../core/terminal-detail.ts';
import { isEndedState } from '../core/terminal-detail.ts';
import type { SubmitAnswer } from '../ports/run-gateway.ts';
import { cancelAndVerify } from './cancel-run.ts';
import type { OrphanPass } from './orphan-context.ts';
import type { Recorded } from './record-events.ts';
import { capturePatch, closeAbsent, settleRun } from './settle-run.ts';

/** Looks at one open run and does what its state calls for (docs/contracts/custody.md, 8.2). */
export async function reconcileRun(pass: OrphanPass, run: RunRecord): Promise<ReconcileOutcome> {
  const found = await pass.gateway.lookup(run);
  switch (found.outcome) {
    case 'absent':
      return onAbsent(pass, run);
    case 'unknown':
      return onUnknown(pass, run, found.reason);
    case 'terminal':
      return onTerminal(pass, run, found.detail);
    case 'live':
      return onLive(pass, run, storableText(found.state));
  }
}

async function onAbsent(pass: OrphanPass, run: RunRecord): Promise<ReconcileOutcome> {
  const closed = await closeAbsent(pass, run, 'reconcile_absent');
  if (!closed.ended) return { ...about(run), action: 'not_recorded', ...errorOf(closed.error) };
  return told(pass, { ...about(run), action: 'absent' });
}

/** Unknown changes nothing: the run stays open, with a fault that stands until an end closes it. */
async function onUnknown(pass: OrphanPass, run: RunRecord, reason: string): Promise<ReconcileOutcome> {
  const isNews = (await pass.openFaultOf(run.run_id))?.reason !== 'reconcile_unreadable';
  const raised = await pass.raiseFault(run, 'reconcile_unreadable', reason);
  const outcome: ReconcileOutcome = { ...about(run), action: 'unreadable', ...errorOf(lossOf(raised)) };
  // Under an id of the fault's own, so that a fault that comes back after a resolution is told again.
  return isNews && raised.outcome !== 'lost' ? told(pass, outcome, { repeats: true }) : outcome;
}

async function onTerminal(
  pass: OrphanPass,
  run: RunRecord,
  detail: TerminalDetail,
): Promise<ReconcileOutcome> {
  const settled = await settleRun(pass, run, detail);
  const captured = settled.settled ? await capturePatch(pass, run) : {};
  return told(pass, {
    ...about(run),
    action: 'settle_attempted',
    ...settled,
    ...outputFacts(run),
    ...captured,
    ...errorOf(captured.error ?? settled.error),
  });
}

/** Work is stopped only when somebody meant its owner to end; a crash of the owner leaves it alive and disclosed. */
async function onLive(pass: OrphanPass, run: RunRecord, state: string): Promise<ReconcileOutcome> {
  const isReviewRun = isReviewOwned(run);
  if (!mayStop(await pass.verdictOf(run.task_id), isReviewRun)) {
    const reason = isReviewRun ? { reason: 'review_panel_owns_run' } : {};
    return told(pass, { ...about(run), action: 'left_live', state, ...reason, ...outputFacts(run) });
  }
  const report = await cancelAndVerify(pass, run, 'owner_task_gone');
  const settled = (await pass.ledger.custody.run(run.run_id))?.settled === true;
  // Absence proves nothing of the run's writes; only a terminal state lets its snapshot be read.
  const captured = isEndedState(report.state) && settled ? await capturePatch(pass, run) : {};
  return told(pass, {
    ...about(run),
    action: 'cancelled',
    outcome: report.outcome,
    state: report.state,
    settled,
    ...outputFacts(run),
    ...captured,
  });
}

/** Asks for the run behind an invocation whose outcome nobody knows, under its own key (docs/contracts/custody.md, 8.3). */
export async function recoverInvocation(
  pass: OrphanPass,
  invocation: InvocationRecord,
): Promise<ReconcileOutcome> {
  const about = { invocation_id: invocation.invocation_id, task_id: invocation.task_id };
  if (isReviewInvocation(invocation)) {
    return told(pass, { ...about, action: 'invocation_retained', reason: 'review_panel_owns_invocation' });
  }
  const body = await bodyOf(pass, invocation);
  if (body === null)
    return told(pass, { ...about, action: 'invocation_retained', reason: 'invocation_request_unrecorded' });
  const answer = await pass.gateway.resubmit(toSubmission(invocation, body));
  switch (answer.outcome) {
    case 'run':
      return adopt(pass, invocation, { body, answer });
    case 'pending':
      return told(pass, { ...about, action: 'recovery_pending' });
    case 'unknown':
      return told(pass, { ...about, action: 'recovery_unreachable' });
    case 'refused':
      return retire(pass, invocation, { body, code: answer.code });
  }
}

/** The body as it was stored: in the event, or behind its reference; null when it can't be had. */
export async function bodyOf(
  pass: Pick<OrphanPass, 'ports'>,
  invocation: InvocationRecord,
): Promise<JsonObject | null> {
  const { request, request_ref: reference } = invocation.request_row;
  const body = isJsonObject(request)
    ? request
    : isJsonObject(reference)
      ? ((await pass.ports.bodies?.get(reference)) ?? null)
      : null;
  return body !== null && Object.keys(body).length > 0 ? body : null;
}

async function adopt(
  pass: OrphanPass,
  invocation: InvocationRecord,
  { body, answer }: { readonly body: JsonObject; readonly answer: Extract<SubmitAnswer, { outcome: 'run' }> },
): Promise<ReconcileOutcome> {
  const submission = toSubmission(invocation, body);
  const recorded = await pass.record([
    startedEvent(submission, answer.run_id, { added: answer.facts, recovered: true }),
  ]);
  const about = {
    run_id: answer.run_id,
    invocation_id: invocation.invocation_id,
    task_id: invocation.task_id,
  };
  const run = recorded.outcome === 'lost' ? null : await pass.ledger.custody.run(answer.run_id);
  if (run === null || !run.started)
    return { ...about, action: 'not_recorded', ...errorOf(lossOf(recorded) ?? 'the start did not land') };
  if (run.settled) return { ...about, action: 'settle_attempted', settled: true };
  return { ...(await reconcileRun(pass, run)), invocation_id: invocation.invocation_id };
}

async function retire(
  pass: OrphanPass,
  invocation: InvocationRecord,
  { body, code }: { readonly body: JsonObject; readonly code: string },
): Promise<ReconcileOutcome> {
  const about = { invocation_id: invocation.invocation_id, task_id: invocation.task_id };
  const recorded = await pass.record([
    startFailedEvent(toSubmission(invocation, body), {
      id: reconcileId('refused', invocation.invocation_id),
      definite: true,
      reason: `recovery_refused_${storableText(code)}`,
    }),
  ]);
  if (recorded.outcome === 'lost') return { ...about, action: 'not_recorded', ...errorOf(recorded.error) };
  return told(pass, { ...about, action: 'invocation_retired' });
}

function about(run: RunRecord): { readonly run_id: string; readonly task_id: string } {
  return { run_id: run.run_id, task_id: run.task_id };
}

function errorOf(error: string | undefined): { readonly error?: string } {
  return error === undefined ? {} : { error: storableText(error) };
}

function lossOf(recorded: Recorded): string | undefined {
  return recorded.outcome === 'lost' ? recorded.error : undefined;
}

/**
 * Writes the outcome to the log. An outcome that says what an earlier one of the same run said is not written
 * again, however many sweeps find it so.
 */
async function told(
  pass: OrphanPass,
  outcome: ReconcileOutcome,
  options: { readonly repeats?: boolean } = {},
): Promise<ReconcileOutcome> {
  const { run_id, invocation_id, action, state, outcome: result, settled, reason } = outcome;
  const id = reconcileId(
    'told',
    run_id ?? `invocation:${invocation_id ?? ''}`,
    action,
    ...[state, result, reason].map((part) => part ?? ''),
    String(settled ?? ''),
  );
  const recorded = await pass.record([
    { ...outcome, type: 'run.reconciled', ...(options.repeats === true ? {} : { id }) },
  ]);
  return recorded.outcome === 'lost' ? { ...outcome, error: outcome.error ?? recorded.error } : outcome;
}

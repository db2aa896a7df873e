import type { Ledger } from '@custody/ledger';
import { storableText } from '../core/run-events.ts';
import type { StartAnswer, StartRefused } from '../core/start-answer.ts';
import { retryHint } from '../core/start-answer.ts';
import { startedEvent, startFailedEvent } from '../core/start-events.ts';
import type { Submission } from '../core/submission.ts';
import { factsOf } from '../core/submission.ts';
import type { RunGateway, SubmitAnswer } from '../ports/run-gateway.ts';
import { usableRun } from './guarded-gateway.ts';
import { recordEvents } from './record-events.ts';

interface SendPorts {
  readonly ledger: Ledger;
  readonly gateway: RunGateway;
}

/**
 * Sends a start whose request the log has, and records what became of it (docs/contracts/custody.md, 2.3). Between
 * the two the invocation is pending, so a crash at any point leaves something that a retry or a sweep finds.
 */
export async function sendStart(
  ports: SendPorts,
  submission: Submission,
  { isRetry }: { readonly isRetry: boolean },
): Promise<StartAnswer> {
  let answer: SubmitAnswer;
  try {
    answer = usableRun(await submit(ports.gateway, submission, isRetry));
  } catch (error) {
    const name = error instanceof Error ? error.name : typeof error;
    await recordEvents(ports.ledger, [
      startFailedEvent(submission, { definite: false, reason: `pre_custody_exit_${name}` }),
    ]);
    throw error;
  }
  switch (answer.outcome) {
    case 'run':
      return recordRun(ports.ledger, submission, { answer, isRetry });
    case 'pending':
      return recordUnknown(ports.ledger, submission, {
        reason: 'queued_without_run_id',
        detail: 'the executor took the request and named no run',
        isRetry,
      });
    case 'unknown':
      return recordUnknown(ports.ledger, submission, {
        reason: 'daemon_unreachable',
        detail: answer.reason,
        isRetry,
      });
    case 'refused':
      return recordRefusal(ports.ledger, submission, { answer, isRetry });
  }
}

function submit(gateway: RunGateway, submission: Submission, isRetry: boolean): Promise<SubmitAnswer> {
  return !isRetry && gateway.submit !== undefined ? gateway.submit(submission) : gateway.resubmit(submission);
}

async function recordRun(
  ledger: Ledger,
  submission: Submission,
  {
    answer,
    isRetry,
  }: { readonly answer: Extract<SubmitAnswer, { outcome: 'run' }>; readonly isRetry: boolean },
): Promise<StartAnswer> {
  const event = startedEvent(submission, answer.run_id, { added: answer.facts });
  const about = {
    run_id: answer.run_id,
    invocation_id: submission.invocation_id,
    task_id: submission.task_id,
    idempotent_recovery: isRetry,
  };
  const recorded = await recordEvents(ledger, [event]);
  // Forestalled: a sweep that found the same run has recorded its start.
  if (recorded.outcome !== 'lost')
    return { status: 'started', ...about, custody_durable: true, facts: factsOf(event) };
  return {
    status: 'started_uncustodied',
    ...about,
    custody_durable: false,
    pending_invocation_id: submission.invocation_id,
    detail: recorded.error,
  };
}

async function recordUnknown(
  ledger: Ledger,
  submission: Submission,
  {
    reason,
    detail,
    isRetry,
  }: {
    readonly reason: 'queued_without_run_id' | 'daemon_unreachable';
    readonly detail: string;
    readonly isRetry: boolean;
  },
): Promise<StartRefused> {
  // Whether this lands changes nothing: the invocation is pending either way.
  await recordEvents(ledger, [
    startFailedEvent(submission, {
      definite: false,
      reason,
      facts: { detail: storableText(detail).slice(0, 500).toWellFormed() },
    }),
  ]);
  const hint = retryHint(submission.invocation_id);
  return {
    status: 'refused',
    reason,
    message: `the outcome of the start is unknown; ${hint}`,
    detail,
    pending_invocation_id: submission.invocation_id,
    retry_hint: hint,
    idempotent_recovery: isRetry,
  };
}

async function recordRefusal(
  ledger: Ledger,
  submission: Submission,
  {
    answer,
    isRetry,
  }: { readonly answer: Extract<SubmitAnswer, { outcome: 'refused' }>; readonly isRetry: boolean },
): Promise<StartRefused> {
  const code = storableText(answer.code);
  const recorded = await recordEvents(ledger, [
    startFailedEvent(submission, {
      definite: true,
      reason: `start_refused_${code}`,
      ...(answer.status === undefined ? {} : { facts: { status: answer.status } }),
    }),
  ]);
  const refused: StartRefused = {
    status: 'refused',
    reason: 'start_refused',
    message: `the executor refused the start: ${answer.reason ?? answer.code}`,
    code: answer.code,
    idempotent_recovery: isRetry,
  };
  if (recorded.outcome !== 'lost') return refused;
  // The log does not know of the refusal, so the invocation stays pending until a retry or a sweep hears it again.
  return {
    ...refused,
    detail: recorded.error,
    pending_invocation_id: submission.invocation_id,
    retry_hint: retryHint(submission.invocation_id),
  };
}

import type { InvocationRecord, JsonObject, Ledger } from '@custody/ledger';
import { invocationState, isJsonObject, textOf } from '@custody/ledger';
import type { Continuation, StartAnswer, StartRefused } from '../core/start-answer.ts';
import { blockedBy, retryHint } from '../core/start-answer.ts';
import { promptOf, startFailedEvent } from '../core/start-events.ts';
import type { Submission } from '../core/submission.ts';
import { factsOf, toSubmission } from '../core/submission.ts';
import type { NamedLocks } from '../ports/named-locks.ts';
import type { RequestBodies } from '../ports/request-bodies.ts';
import type { RunGateway } from '../ports/run-gateway.ts';
import { messageOf } from './heal-rows.ts';
import { inProcessLocks } from './in-process-locks.ts';
import { bodyOf } from './reconcile-run.ts';
import { recordEvents } from './record-events.ts';
import { sendStart } from './send-start.ts';

/** What starts are made with. */
export interface StarterPorts {
  readonly ledger: Ledger;
  /** The executor. Its life is the caller's. */
  readonly gateway: RunGateway;
  readonly bodies: RequestBodies;
  /** Keeps two starts of one task, or two disposals of one snapshot, apart. @default among the callers of this process */
  readonly locks?: NamedLocks;
  /** @default `inv-` and a random UUID */
  readonly newInvocationId?: () => string;
}

/** A start to be made. */
export interface StartRequest {
  readonly task_id: string;
  /** What is sent, and what a retry sends again: kept as a body, never in the log. */
  readonly request: JsonObject;
  /**
   * Facts for the log: `route`, `project_id`, `project_owned`, `project_persistent`, `snapshot_id`, `source`, ... With
   * `continuation_of` and the predecessor's `snapshot_id` the start goes on in that snapshot.
   */
  readonly facts?: JsonObject;
}

/** A start to be sent again. */
export interface RetryRequest {
  readonly task_id: string;
  /** The invocation whose outcome is unknown. */
  readonly retry_of: string;
  /** Given, it must be the prompt of the first try: new work is no retry. */
  readonly prompt?: string;
}

/** Starts runs so that none is ever without custody (docs/contracts/custody.md, 2.2 to 2.4). */
export interface Starter {
  /**
   * Records the intent, then sends it, then records the run.
   *
   * @throws whatever the gateway throws against its contract; the invocation then stays pending.
   */
  start(request: StartRequest): Promise<StartAnswer>;
  /** Sends a recorded start again, with its own body, key and facts, whatever has been configured since. */
  retry(request: RetryRequest): Promise<StartAnswer>;
}

/** Builds a starter. */
export function createStarter(ports: StarterPorts): Starter {
  const locks = ports.locks ?? inProcessLocks();
  const newInvocationId = ports.newInvocationId ?? (() => `inv-${crypto.randomUUID()}`);

  async function alone(names: readonly string[], work: () => Promise<StartAnswer>): Promise<StartAnswer> {
    const [name, ...others] = names;
    if (name === undefined) return work();
    const held = await locks.hold(name, () => alone(others, work));
    return held.outcome === 'done' ? held.value : unknownCustody('another start of the task is under way');
  }

  return {
    start: (request) => {
      const continuation = continuationOf(request.facts ?? {});
      // Always in this order, so that two starts can't wait for each other.
      const names = [
        `actor:${request.task_id}`,
        ...(continuation === null ? [] : [`snapshot:${continuation.snapshot_id}`]),
      ];
      return alone(names, () =>
        startAlone(ports, { request, continuation, invocationId: newInvocationId() }),
      );
    },
    retry: (request) => alone([`actor:${request.task_id}`], () => retryAlone(ports, request)),
  };
}

function continuationOf(facts: JsonObject): Continuation | null {
  const continuation = {
    run_id: textOf(facts, 'continuation_of'),
    snapshot_id: textOf(facts, 'snapshot_id'),
  };
  return continuation.run_id === '' || continuation.snapshot_id === '' ? null : continuation;
}

async function startAlone(
  ports: StarterPorts,
  {
    request,
    continuation,
    invocationId,
  }: {
    readonly request: StartRequest;
    readonly continuation: Continuation | null;
    readonly invocationId: string;
  },
): Promise<StartAnswer> {
  const blocked = await findBlockers(ports.ledger, request.task_id, continuation);
  if (blocked !== null) return blocked;
  const submission: Submission = {
    invocation_id: invocationId,
    task_id: request.task_id,
    request: request.request,
    facts: factsOf(request.facts ?? {}),
  };
  const unwritable = await recordRequest(ports, submission);
  if (unwritable !== null) {
    // Nothing was sent, so there is no run. Should the request have landed after all, this ends it.
    await recordEvents(ports.ledger, [
      startFailedEvent(submission, { definite: true, reason: 'start_request_row_unwritable' }),
    ]);
    return {
      status: 'refused',
      reason: 'start_request_row_unwritable',
      message: 'the request could not be recorded; nothing was sent',
      detail: unwritable,
    };
  }
  return sendStart(ports, submission, { isRetry: false });
}

/** Fails closed: a log that can't be read may hide a run. */
async function findBlockers(
  ledger: Ledger,
  taskId: string,
  continuation: Continuation | null,
): Promise<StartRefused | null> {
  try {
    if (!(await ledger.custody.isReadable()))
      return { ...unknownCustody('the log cannot be read'), custody_log_unreadable: true };
    const custody = (await ledger.custody.tasks([taskId])).get(taskId);
    return custody === undefined ? null : blockedBy(custody, continuation);
  } catch (error) {
    return {
      ...unknownCustody('the log cannot be read'),
      custody_log_unreadable: true,
      detail: messageOf(error),
    };
  }
}

function unknownCustody(why: string): StartRefused {
  return {
    status: 'refused',
    reason: 'replacement_custody_unknown',
    message: `whether the task owes something is unknown: ${why}`,
  };
}

/** The body first, then the event that refers to it; the reason why not, or null. */
async function recordRequest(ports: StarterPorts, submission: Submission): Promise<string | null> {
  let reference: JsonObject;
  try {
    reference = await ports.bodies.put(submission.request);
  } catch (error) {
    return messageOf(error);
  }
  const recorded = await recordEvents(ports.ledger, [
    {
      ...submission.facts,
      type: 'run.start_requested',
      task_id: submission.task_id,
      invocation_id: submission.invocation_id,
      request_ref: reference,
      prompt_chars: promptOf(submission.request).length,
    },
  ]);
  return recorded.outcome === 'lost' ? recorded.error : null;
}

async function retryAlone(ports: StarterPorts, request: RetryRequest): Promise<StartAnswer> {
  const found = await findRetried(ports, request);
  if ('status' in found) return found;
  const { invocation, body } = found;
  const { request: inline, request_ref: reference, ...facts } = invocation.request_row;
  const again = await recordEvents(ports.ledger, [
    {
      ...facts,
      type: 'run.start_requested',
      task_id: invocation.task_id,
      invocation_id: invocation.invocation_id,
      retried: true,
      ...(isJsonObject(reference) ? { request_ref: reference } : { request: inline ?? null }),
    },
  ]);
  if (again.outcome === 'lost') {
    // Not definite: the first try may have made a run.
    return {
      status: 'refused',
      reason: 'start_request_row_unwritable',
      message: 'the retry could not be recorded; it was not sent',
      detail: again.error,
      pending_invocation_id: invocation.invocation_id,
      retry_hint: retryHint(invocation.invocation_id),
      idempotent_recovery: true,
    };
  }
  return sendStart(ports, toSubmission(invocation, body), { isRetry: true });
}

/** The invocation to send again with its body, or why it is not sent. */
async function findRetried(
  ports: StarterPorts,
  request: RetryRequest,
): Promise<StartRefused | { readonly invocation: InvocationRecord; readonly body: JsonObject }> {
  let invocation: InvocationRecord | null;
  try {
    if (!(await ports.ledger.custody.isReadable()))
      return { ...unknownCustody('the log cannot be read'), custody_log_unreadable: true };
    invocation = await ports.ledger.custody.invocation(request.retry_of);
  } catch (error) {
    return {
      ...unknownCustody('the log cannot be read'),
      custody_log_unreadable: true,
      detail: messageOf(error),
    };
  }
  if (invocation === null || !invocation.requested)
    return refuseRetry('unknown_invocation', `there is no invocation ${request.retry_of}`);
  const refused = refusalOf(invocation, request);
  if (refused !== null) return refused;
  const body = await bodyOf({ ports }, invocation);
  if (body === null)
    return refuseRetry(
      'invocation_request_unrecorded',
      'the body of the first try is not there, so nothing identical can be sent',
    );
  if (request.prompt !== undefined && request.prompt !== promptOf(body)) {
    return refuseRetry(
      'retry_prompt_mismatch',
      'the prompt is not that of the first try; new work is a new start',
    );
  }
  return { invocation, body };
}

function refusalOf(invocation: InvocationRecord, request: RetryRequest): StartRefused | null {
  if (invocation.task_id !== request.task_id)
    return refuseRetry('foreign_invocation', `the invocation belongs to task ${invocation.task_id}`);
  switch (invocationState(invocation)) {
    case 'started':
      return {
        ...refuseRetry('invocation_already_started', `the invocation became run ${invocation.run_id}`),
        run_id: invocation.run_id,
      };
    case 'failed_definite':
      return refuseRetry(
        'invocation_definitely_refused',
        'the executor refused it for good; make a new start',
      );
    case 'pending':
    case 'unrequested':
      return null;
  }
}

function refuseRetry(reason: StartRefused['reason'], message: string): StartRefused {
  return { status: 'refused', reason, message };
}

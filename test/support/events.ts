import type { JsonObject, NewEvent } from '@custody/ledger';

/** An event of any type. */
export function event(type: string, fields: JsonObject = {}): NewEvent {
  return { type, ...fields };
}

/** A start of a run of route `claude`. */
export function started(runId: string, taskId: string, more: JsonObject = {}): NewEvent {
  return { type: 'run.started', run_id: runId, task_id: taskId, route: 'claude', ...more };
}

/** A success that disclosed its cost of 1.25 USD. */
export function settled(runId: string, more: JsonObject = {}): NewEvent {
  return {
    type: 'run.settled',
    run_id: runId,
    state: 'succeeded',
    model: 'claude-x',
    cost_usd: 1.25,
    cost_final: true,
    spend_disclosed: true,
    spend_estimated: false,
    ...more,
  };
}

/** An intended start with a body that could be sent again. */
export function requested(invocationId: string, taskId: string, more: JsonObject = {}): NewEvent {
  return {
    type: 'run.start_requested',
    invocation_id: invocationId,
    task_id: taskId,
    idempotency_key: invocationId,
    request: { prompt: 'do it' },
    ...more,
  };
}

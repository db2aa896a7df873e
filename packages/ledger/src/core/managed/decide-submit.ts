import type { JsonValue } from '../json.ts';
import { isSameJson } from '../json.ts';
import type { Decision } from './decision.ts';
import { accept, refuse } from './decision.ts';
import type { HolderClaim } from './holder-guard.ts';
import { guardHolder } from './holder-guard.ts';
import type { ManagedScope } from './scope.ts';

/** Hands in the outcome of a step, once whatever happens. */
export interface Submit extends HolderClaim {
  readonly idempotencyKey: string;
  readonly value: JsonValue;
}

/**
 * Takes a submit (docs/contracts/fencing.md, 2): the fence is judged first, also when the key is known. A known key
 * answers what is stored, or is refused if it stands for something else.
 */
export function decideSubmit(scope: ManagedScope, command: Submit): Decision {
  const held = guardHolder(scope, command);
  if (!held.ok) return held.decision;
  const taskId = held.task.task_id;
  const known = scope.submissionOf(command.idempotencyKey);
  if (known === null) {
    const event = {
      type: 'run.submitted',
      task_id: taskId,
      run_id: command.runId,
      idempotency_key: command.idempotencyKey,
      value: command.value,
    };
    return accept([event], { answer: { replayed: false, value: command.value } });
  }
  if (known.task_id !== taskId || !isSameJson(known.value, command.value)) {
    return refuse('idempotency_conflict', {
      task_id: taskId,
      run_id: command.runId,
      idempotency_key: command.idempotencyKey,
      recorded_task_id: known.task_id,
      recorded_seq: known.seq,
    });
  }
  return accept([], { answer: { replayed: true, value: known.value } });
}

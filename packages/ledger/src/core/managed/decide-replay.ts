import type { JsonObject } from '../json.ts';
import type { Completion } from './completion.ts';
import { completedEvent, openParents, promotions } from './completion.ts';
import type { Decision, RefusalReason } from './decision.ts';
import { accept, refuse } from './decision.ts';
import type { Attempt, ManagedTask } from './managed-task.ts';
import { attemptOf, latestAttempt } from './managed-task.ts';
import type { ManagedScope } from './scope.ts';

/** The exact run whose result is to become the completion although it had already ended. */
export interface Replay extends Completion {
  readonly taskId: string;
  readonly runId: string;
}

interface Case {
  readonly scope: ManagedScope;
  readonly task: ManagedTask;
  readonly run: Attempt;
}

/** A check of 2.3: the facts of the refusal, or null if it passes. */
type Check = readonly [reason: RefusalReason, fails: (facts: Case) => JsonObject | null];

const when = (isRefused: boolean, facts: JsonObject = {}): JsonObject | null => (isRefused ? facts : null);

/** Checks 3 to 11 of docs/contracts/attempts.md, 2.3, in their order. Some are redundant on purpose. */
const CHECKS: readonly Check[] = [
  ['run_not_ended', ({ run }) => when(run.ended_at === null)],
  [
    'not_latest_run',
    ({ task, run }) =>
      when(latestAttempt(task) !== run, { latest_run_id: latestAttempt(task)?.run_id ?? null }),
  ],
  [
    'active_run',
    ({ scope, task }) =>
      when(task.current_run_id !== null || scope.leaseOf(task.task_id)?.open === true, {
        current_run_id: task.current_run_id,
      }),
  ],
  [
    'already_completed',
    ({ task, run }) =>
      when(run.outcome === 'completed' || task.completed_run_id !== null, {
        completed_run_id: task.completed_run_id,
      }),
  ],
  ['status_not_replayable', ({ task }) => when(task.status !== 'blocked' && task.status !== 'triage')],
  ['decomposed', ({ task }) => when(task.decomposed)],
  [
    'changed_since_run',
    ({ task, run }) =>
      when(task.changed_seq > run.ended_seq, { changed_seq: task.changed_seq, ended_seq: run.ended_seq }),
  ],
  // A new parent is a change as well, but while it is open that is what must be told.
  [
    'parents_open',
    ({ scope, task }) => when(openParents(scope, task).length > 0, { parents: openParents(scope, task) }),
  ],
  [
    'changed_since_run',
    ({ task, run }) =>
      when(task.linked_seq > run.ended_seq, { changed_seq: task.linked_seq, ended_seq: run.ended_seq }),
  ],
  ['operator_released', ({ run }) => when(run.operator_released)],
];

/**
 * Turns the exact, latest, unchanged ended run into the completion of its task. Nobody else may have acted since:
 * any other run stays as stale as it is, also with the same bytes.
 */
export function decideReplay(scope: ManagedScope, command: Replay): Decision {
  const task = scope.taskOf(command.taskId);
  if (task === null) return refuse('no_such_task', { task_id: command.taskId });
  const run = attemptOf(task, command.runId);
  if (run === null) {
    const isForeign = scope.runOwner !== null && scope.runOwner !== task.task_id;
    const facts = { task_id: task.task_id, run_id: command.runId };
    return isForeign
      ? refuse('foreign_run', { ...facts, owner: scope.runOwner })
      : refuse('no_such_run', facts);
  }
  for (const [reason, fails] of CHECKS) {
    const facts = fails({ scope, task, run });
    if (facts !== null)
      return refuse(reason, {
        task_id: task.task_id,
        run_id: run.run_id,
        status: task.status,
        run_outcome: run.outcome,
        ...facts,
      });
  }
  const replayed = { replayed: true, ...(run.outcome === null ? {} : { prior_outcome: run.outcome }) };
  return accept([
    completedEvent(scope, task, { completion: command, runId: run.run_id, facts: replayed }),
    ...promotions(scope, task.task_id),
  ]);
}

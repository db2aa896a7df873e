import type { Completion } from './completion.ts';
import { completionHash } from './completion.ts';
import { decideComplete } from './decide-complete.ts';
import { decideReplay } from './decide-replay.ts';
import type { Decision } from './decision.ts';
import { accept, refuse } from './decision.ts';
import type { ManagedScope } from './scope.ts';

/** A result that was accepted from a run and kept in a journal before the ledger heard of it. */
export interface Finalize extends Completion {
  readonly taskId: string;
  readonly runId: string;
}

/**
 * Turns a journaled result into the completion of its task, if its very run still may: as the current run, or as
 * the ended one by a replay. What the ledger has already is recognised by the run and the hash.
 */
export function decideFinalize(scope: ManagedScope, command: Finalize): Decision {
  const task = scope.taskOf(command.taskId);
  if (task === null) return refuse('no_such_task', { task_id: command.taskId });
  if (task.completed_run_id === command.runId) {
    if (task.completed_hash === completionHash(command)) return accept([]);
    return refuse('journal_conflict', {
      task_id: task.task_id,
      run_id: command.runId,
      recorded_hash: task.completed_hash,
    });
  }
  return task.current_run_id === command.runId
    ? decideComplete(scope, { ...command, fence: null })
    : decideReplay(scope, command);
}

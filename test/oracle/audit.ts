import type { Fold } from './fold.ts';
import { isReviewOwned } from './fold.ts';
import type { Run } from './fold-runs.ts';
import type { JsonObject } from './json.ts';
import { byCodePoint } from './json.ts';

const TERMINAL_STATES = ['succeeded', 'failed', 'cancelled', 'interrupted'];

/** The five parts of a disclosure besides the flat list. */
export const DISCLOSED = [
  'open_run_ids',
  'pending_invocation_ids',
  'undisposed_patch_run_ids',
  'deferred_project_retirements',
  'terminal_runs',
] as const;

/** The envelope that an audit of a task stores on its row. */
export function auditOf(fold: Fold, taskId: string, trigger: string): JsonObject {
  if (taskId === '') return failed(taskId, trigger, 'missing_task_id');
  if (!fold.isReadable) return failed(taskId, trigger, 'custody_log_unreadable');
  const runs = [...fold.runs.values()].filter((run) => run.task_id === taskId);
  const invocations = [...fold.invocations.values()].filter((invocation) => invocation.task_id === taskId);
  const open = ids(runs.filter((run) => !run.settled && !isReviewOwned(run)));
  const pending = invocations
    .filter(
      (invocation) => invocation.state === 'pending' && invocation.has_body && !isReviewOwned(invocation),
    )
    .map((invocation) => invocation.invocation_id);
  const patches = ids(runs.filter((run) => run.settled && owesPatch(run)));
  const deferred = ids(runs.filter((run) => run.settled && run.project_owned && run.project_id !== ''));
  const receipts = runs
    .filter((run) => run.settled && !isReviewOwned(run) && TERMINAL_STATES.includes(run.terminal_state))
    .sort((left, right) => byCodePoint(left.run_id, right.run_id))
    .map((run) => ({
      run_id: run.run_id,
      state: run.terminal_state,
      model: run.model,
      profile_id: run.profile_id,
      selected_subagent_id: run.selected_subagent_id,
    }));
  return {
    task_id: taskId,
    trigger,
    outcomes: [],
    audit_status: 'ok',
    open_run_ids: open,
    pending_invocation_ids: pending,
    undisposed_patch_run_ids: patches,
    terminal_runs: receipts,
    deferred_project_retirements: deferred,
    unreconciled: [
      ...open,
      ...pending.map((id) => `invocation:${id}`),
      ...patches.map((id) => `patch:${id}`),
    ],
  };
}

function failed(taskId: string, trigger: string, why: string): JsonObject {
  const unreconciled = [`delegated_run_state_unknown:${why}`];
  return { task_id: taskId, trigger, outcomes: [], audit_status: 'failed', unreconciled };
}

function owesPatch(run: Run): boolean {
  const { workspace_kind: kind, strategy } = run.resource_ref;
  const hasWorkspace = run.snapshot_id !== '' || (kind === 'directory' && strategy === 'copy');
  return hasWorkspace && run.patch_disposed === '';
}

function ids(runs: readonly Run[]): string[] {
  return runs.map((run) => run.run_id);
}

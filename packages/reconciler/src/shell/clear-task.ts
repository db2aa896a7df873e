import type { ClearReport, PassOptions, PlanChanged } from '../core/reports.ts';
import type { HealContext } from './heal-rows.ts';
import { healTasks } from './heal-rows.ts';
import { applyPlan, planPass } from './planned-pass.ts';

const TRIGGER = 'kill_path_clear';

/** Heals one task's row on the kill path. A row that is true, not terminal or not there is not written. */
export async function clearTask(
  context: HealContext,
  taskId: string,
  options: PassOptions = {},
): Promise<ClearReport | PlanChanged> {
  const base = { trigger: TRIGGER, task_id: taskId } as const;
  if (taskId === '') return { ...base, refreshed: false, failed: [] };
  if (options.dryRun !== true && options.plan === undefined) {
    const outcome = await healTasks(context, [taskId], TRIGGER);
    return { ...base, refreshed: outcome.refreshed.length > 0, failed: outcome.failed };
  }
  const plan = await planPass(context, [taskId], TRIGGER);
  if (options.dryRun === true)
    return {
      ...base,
      refreshed: plan.heals.length > 0,
      failed: plan.failed,
      plan: plan.entries,
      plan_hash: plan.hash,
    };
  if (plan.hash !== options.plan)
    return { outcome: 'refused', reason: 'plan_changed', expected: options.plan ?? '', plan_hash: plan.hash };
  const outcome = await applyPlan(context, plan);
  return { ...base, refreshed: outcome.refreshed.length > 0, failed: outcome.failed };
}

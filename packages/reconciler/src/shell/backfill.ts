import type { BackfillReport, PassOptions, PlanChanged } from '../core/reports.ts';
import type { HealContext } from './heal-rows.ts';
import { healTasks, pagesOf } from './heal-rows.ts';
import { applyPlan, planPass } from './planned-pass.ts';

const TRIGGER = 'boot_backfill';

/**
 * Heals every terminal row that may have stopped being true, by task id. Current debts are read by key, so the
 * history is not replayed, however many rows there are; one bad row never stops the others.
 */
export async function backfill(
  context: HealContext,
  options: PassOptions = {},
): Promise<{ readonly report: BackfillReport | PlanChanged; readonly tried: readonly string[] }> {
  const selected = await context.rows.selectStale();
  const base = { trigger: TRIGGER, examined: selected.length } as const;
  if (options.dryRun === true || options.plan !== undefined)
    return { report: await planned(context, { selected, options, base }), tried: selected };

  const total = {
    refreshed: [] as string[],
    failed: [] as { task_id: string; error: string }[],
    evidence_missing: [] as string[],
  };
  for (const ids of pagesOf(selected)) {
    const outcome = await healTasks(context, ids, TRIGGER);
    total.refreshed.push(...outcome.refreshed);
    total.failed.push(...outcome.failed);
    total.evidence_missing.push(...outcome.evidenceMissing);
  }
  return { report: { ...base, ...total }, tried: selected };
}

async function planned(
  context: HealContext,
  pass: {
    readonly selected: readonly string[];
    readonly options: PassOptions;
    readonly base: Pick<BackfillReport, 'trigger' | 'examined'>;
  },
): Promise<BackfillReport | PlanChanged> {
  const plan = await planPass(context, pass.selected, TRIGGER);
  if (pass.options.dryRun === true) {
    const refreshed = plan.heals.map(({ heal }) => heal.task_id);
    return {
      ...pass.base,
      refreshed,
      failed: plan.failed,
      evidence_missing: [],
      plan: plan.entries,
      plan_hash: plan.hash,
    };
  }
  if (plan.hash !== pass.options.plan)
    return {
      outcome: 'refused',
      reason: 'plan_changed',
      expected: pass.options.plan ?? '',
      plan_hash: plan.hash,
    };
  const outcome = await applyPlan(context, plan);
  return {
    ...pass.base,
    refreshed: outcome.refreshed,
    failed: outcome.failed,
    evidence_missing: outcome.evidenceMissing,
  };
}

import type { Trigger } from '../core/audit.ts';
import type { PlanEntry } from '../core/plan-hash.ts';
import { planHash, toPlanEntry } from '../core/plan-hash.ts';
import type { HealContext, HealFailure, HealOutcome, PlannedHeal } from './heal-rows.ts';
import { applyHeals, pagesOf, planPage } from './heal-rows.ts';

/** A whole pass as a plan: the heals, and the name under which exactly these are applied. */
export interface PassPlan {
  readonly heals: readonly PlannedHeal[];
  readonly notTerminal: readonly string[];
  readonly failed: readonly HealFailure[];
  readonly entries: readonly PlanEntry[];
  readonly hash: string;
}

/** Plans a pass over some tasks and writes nothing. */
export async function planPass(
  context: HealContext,
  taskIds: readonly string[],
  trigger: Trigger,
): Promise<PassPlan> {
  const heals: PlannedHeal[] = [];
  const notTerminal: string[] = [];
  const failed: HealFailure[] = [];
  const head = await context.ledger.head();
  for (const ids of pagesOf(taskIds)) {
    const page = await planPage(context, ids, trigger);
    heals.push(...page.heals);
    notTerminal.push(...page.notTerminal);
    failed.push(...page.failed);
  }
  const entries = heals.map(({ heal }) => toPlanEntry(heal));
  const hash = planHash({ trigger, head_seq: head.seq, head_hash: head.hash }, entries);
  return { heals, notTerminal, failed, entries, hash };
}

/** Applies a plan as it is. A row that changed since is reported as failed, not planned anew. */
export async function applyPlan(context: HealContext, plan: PassPlan): Promise<HealOutcome> {
  const total = { refreshed: [] as string[], failed: [...plan.failed], evidenceMissing: [] as string[] };
  for (const heals of pagesOf(plan.heals)) {
    const outcome = await applyHeals(context, heals);
    total.refreshed.push(...outcome.refreshed);
    total.evidenceMissing.push(...outcome.evidenceMissing);
    total.failed.push(
      ...outcome.failed,
      ...outcome.changed.map((task_id) => ({ task_id, error: 'the row changed after the plan was checked' })),
    );
  }
  return total;
}

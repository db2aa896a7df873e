import type { Ledger } from '@custody/ledger';
import { LIVE_ENVELOPE_KEYS } from '@custody/ledger';
import type { PlanEntry } from '@custody/reconciler';
import { createReconciler } from '@custody/reconciler';

/** What a heal of the row would change now; null if the row is true, or its task has not ended. */
export async function healOf(ledger: Ledger, taskId: string): Promise<PlanEntry | null> {
  const report = await createReconciler(ledger).clear(taskId, { dryRun: true });
  const plan = 'outcome' in report ? undefined : report.plan;
  return plan?.[0] ?? null;
}

/** Names of the fields that are not true, as `explain` shows them; a dot leads into `subagent_envelope`. */
export function untrueFields(heal: PlanEntry | null): ReadonlySet<string> {
  const names = heal === null ? [] : Object.keys(heal.after);
  const inner = names.filter((name) => LIVE_ENVELOPE_KEYS.includes(name));
  return new Set([...names, ...inner.map((name) => `subagent_envelope.${name}`)]);
}

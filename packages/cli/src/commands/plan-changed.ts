import type { PlanChanged } from '@custody/reconciler';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { printRefusal } from '../output/report.ts';

/** Says that the plan named with `--plan` is no longer the one that would be made. */
export function printPlanChanged(context: CommandContext, refusal: PlanChanged): Promise<ExitCode> {
  return printRefusal(
    context,
    refusal,
    `the plan changed since it was made; nothing was written\n  plan_hash: ${refusal.plan_hash}\nhint: Look at the new plan with --dry-run.`,
  );
}

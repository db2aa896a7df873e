import { upstreamLine } from '../proxy/upstream.ts';
import { failedFile, fencedFile, roleFile, UPSTREAM_FILE } from '../state/state-folder.ts';
import type { FailoverInput, FailoverStep } from './failover-input.ts';
import type { FailoverReport } from './failover-report.ts';
import { failoverReport } from './failover-report.ts';
import type { FailoverTools } from './failover-tools.ts';
import { lookAtNode } from './look-at-node.ts';
import type { FailoverRefusal } from './preflight.ts';
import { isRaisedBy, judge, nodesOf } from './preflight.ts';
import { look } from './promote.ts';
import { isUpstream } from './step-states.ts';
import type { Survey } from './survey.ts';
import { placeOf, survey } from './survey.ts';

/** One thing that a failover would do. */
export interface PlannedAction {
  readonly step: FailoverStep;
  readonly action: string;
}

/** Where a failover stands, and what it would do. */
export interface FailoverPlan extends FailoverReport {
  readonly plan: readonly PlannedAction[];
}

/** Says what a failover would do, or why it would not begin. Changes nothing. */
export async function planFailover(tools: FailoverTools): Promise<FailoverPlan | FailoverRefusal> {
  const { input, consent } = tools;
  const seen = await survey(input, await look(tools));
  const refusal = judge(seen, consent);
  if (refusal !== null) return refusal;
  const through = await lookAtNode(input.publicUrl ?? input.newUrl);
  return { ...failoverReport(seen, input, through), plan: actionsFor(seen, input) };
}

function actionsFor(seen: Survey, input: FailoverInput): readonly PlannedAction[] {
  const { old, new: standby, epoch } = seen;
  const through = (input.publicUrl ?? input.newUrl).origin;
  const actions: readonly (readonly [FailoverStep, boolean, string])[] = [
    ['preflight', old.isFailed, `write ${failedFile(old.name)}`],
    [
      'fence',
      isRaisedBy(epoch.record, nodesOf(seen)),
      `raise the epoch from ${epoch.epoch} to ${epoch.epoch + 1} and re-stamp open leases`,
    ],
    ['fence', old.fenced !== null, `write ${fencedFile(old.name)}`],
    ['promote', standby.role === 'primary', `write "primary" to ${roleFile(standby.name)}`],
    ['promote', false, `wait until ${standby.name} answers as primary`],
    ['switch', isUpstream(seen, input), `write "${upstreamLine(placeOf(input.newUrl))}" to ${UPSTREAM_FILE}`],
    ['verify', false, `write a record through ${through} and read it back`],
  ];
  return actions.filter(([, isDone]) => !isDone).map(([step, , action]) => ({ step, action }));
}

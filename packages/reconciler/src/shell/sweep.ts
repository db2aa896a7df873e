import type { Journals } from '@custody/ledger';
import { parkedIds } from '../core/parked.ts';
import type { OrphanOutcome, PassOptions, PlanChanged, SweepReport } from '../core/reports.ts';
import type { LiveTaskIds } from '../ports/live-tasks.ts';
import type { RunGatewayFactory } from '../ports/run-gateway.ts';
import type { CursorPass, CursorScan } from './cursor-pass.ts';
import { applyCursorPlan, cursorPass, planCursorPass, scanSettled } from './cursor-pass.ts';
import { loadFailures } from './failure-log.ts';
import type { HealContext, HealOutcome } from './heal-rows.ts';
import { healTasks } from './heal-rows.ts';
import type { LeaseSweep } from './lease-sweep.ts';
import { listLeaseActions, NO_LEASES, sweepLeases } from './lease-sweep.ts';
import type { SettlePorts } from './orphan-context.ts';
import { listOrphans, reconcileOrphans } from './reconcile-orphans.ts';

const TRIGGER = 'sweep_refresh';

/** How a sweep is run. */
export interface SweepOptions extends PassOptions, SettlePorts {
  readonly live: LiveTaskIds | undefined;
  readonly recoverable: LiveTaskIds | undefined;
  readonly gateway: RunGatewayFactory;
  /** Folders of results that the ledger may not have yet. */
  readonly journals: readonly Journals[];
}

/** A sweep's report, and the tasks that it looked at. */
export interface Sweep {
  readonly report: SweepReport | PlanChanged;
  readonly tried: readonly string[];
}

/**
 * One sweep: results that wait in journals and leases that nobody keeps come first, then runs without a living owner are asked for through the gateway, the rows of those that ended are
 * healed, then the cursor pass heals what settled by whomever.
 */
export async function sweep(context: HealContext, options: SweepOptions): Promise<Sweep> {
  if (options.dryRun === true || options.plan !== undefined) return plannedSweep(context, options);
  const leases = await sweepLeases(context.ledger, options.journals);
  const orphans = await reconcileOrphans(context, options);
  const healed = await healTasks(context, orphans.refresh, TRIGGER);
  const pass = await cursorPass(context, await scan(context, options));
  const tried = [
    ...orphans.refresh,
    ...pass.tried,
    ...leases.requeued,
    ...leases.gave_up,
    ...leases.extended,
  ];
  return { report: toReport(pass, { outcomes: orphans.outcomes, healed, leases }), tried };
}

/** A plan covers the rows. The gateway is not asked: what it would answer later is not known now. */
async function plannedSweep(context: HealContext, options: SweepOptions): Promise<Sweep> {
  const found = await scan(context, options);
  if (found === null) return { report: emptyReport(), tried: [] };
  const plan = await planCursorPass(context, found);
  if (options.dryRun === true) {
    const outcomes = (await listOrphans(context, options)).map((orphan) => ({
      ...orphan,
      action: 'would_ask',
    }));
    return {
      report: {
        ...emptyReport(),
        requeued: await wouldRequeue(context),
        events_scanned: found.scanned,
        orphans: outcomes,
        refreshed: plan.heals.map(({ heal }) => heal.task_id),
        deferred: [...found.waiting.keys(), ...plan.notTerminal],
        failed: plan.failed,
        plan: plan.entries,
        plan_hash: plan.hash,
      },
      tried: [],
    };
  }
  if (plan.hash !== options.plan) {
    return {
      report: {
        outcome: 'refused',
        reason: 'plan_changed',
        expected: options.plan ?? '',
        plan_hash: plan.hash,
      },
      tried: [],
    };
  }
  const pass = await applyCursorPlan(context, found, plan);
  return {
    report: toReport(pass, {
      outcomes: [],
      healed: { refreshed: [], failed: [], evidenceMissing: [] },
      leases: NO_LEASES,
    }),
    tried: pass.tried,
  };
}

/** Tasks whose lease a sweep would release; whether the breaker blocks them instead is known only then. */
async function wouldRequeue({ ledger }: HealContext): Promise<readonly string[]> {
  return (await listLeaseActions(ledger))
    .filter((action) => action.kind !== 'extend')
    .map((action) => action.task_id);
}

async function scan(context: HealContext, options: SweepOptions): Promise<CursorScan | null> {
  const skip = parkedIds(await loadFailures(context.ledger.state));
  return scanSettled(context, { live: options.live, skip });
}

function toReport(
  pass: CursorPass,
  orphans: {
    readonly outcomes: readonly OrphanOutcome[];
    readonly healed: HealOutcome;
    readonly leases: LeaseSweep;
  },
): SweepReport {
  const { leases } = orphans;
  return {
    trigger: TRIGGER,
    events_scanned: pass.scanned,
    refreshed: [...new Set([...orphans.healed.refreshed, ...pass.refreshed])],
    deferred: pass.deferred,
    orphans: orphans.outcomes,
    requeued: leases.requeued,
    ...(leases.gave_up.length > 0 ? { gave_up: leases.gave_up } : {}),
    ...(leases.extended.length > 0 ? { extended: leases.extended } : {}),
    ...(leases.journals === null ? {} : { journals: leases.journals }),
    failed: [...leases.failed, ...orphans.healed.failed, ...pass.failed],
    evidence_missing: [...orphans.healed.evidenceMissing, ...pass.evidenceMissing],
  };
}

function emptyReport(): SweepReport {
  return {
    trigger: TRIGGER,
    events_scanned: 0,
    refreshed: [],
    deferred: [],
    orphans: [],
    requeued: [],
    failed: [],
    evidence_missing: [],
  };
}

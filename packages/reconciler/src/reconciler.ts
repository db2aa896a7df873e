import type { Journals, JsonObject, Ledger, TaskRows } from '@custody/ledger';
import { hostWait } from './adapters/host-timer.ts';
import { noGateway } from './adapters/no-gateway.ts';
import type { BackfillReport, ClearReport, PassOptions, PlanChanged, SweepReport } from './core/reports.ts';
import { toSchedule } from './core/schedule.ts';
import type { LiveTaskIds } from './ports/live-tasks.ts';
import type { PassLog } from './ports/pass-log.ts';
import { silentLog } from './ports/pass-log.ts';
import type { RunGateway, RunGatewayFactory } from './ports/run-gateway.ts';
import { keptOpen } from './ports/run-gateway.ts';
import type { Wait } from './ports/timer.ts';
import type { AuditReport } from './shell/audit-tasks.ts';
import { allTaskIds, auditedLedger, auditTasks } from './shell/audit-tasks.ts';
import { backfill } from './shell/backfill.ts';
import { clearTask } from './shell/clear-task.ts';
import { recordFailures } from './shell/failure-log.ts';
import type { HealContext } from './shell/heal-rows.ts';
import type { SettlePorts } from './shell/orphan-context.ts';
import { runLoop } from './shell/run-loop.ts';
import type { Stats } from './shell/stats.ts';
import { readStats, recordPass } from './shell/stats.ts';
import { sweep } from './shell/sweep.ts';

/** What a reconciler works with; a ledger is enough. */
export interface ReconcilerOptions extends SettlePorts {
  /** The tasks whose owners are alive. Unknown (absent, null) stops the orphan sweep; the log still heals rows. */
  readonly liveTaskIds?: LiveTaskIds;
  /** Tasks that somebody will recover; their runs are no orphans. */
  readonly recoverableTaskIds?: LiveTaskIds;
  /**
   * The way to the external system that executes runs, or what builds it when there is work.
   * @default none: no orphan is asked for
   */
  readonly gateway?: RunGateway | RunGatewayFactory;
  /** The rows to heal. @default the ledger's own */
  readonly rows?: TaskRows;
  /** Folders of results that the ledger may not have yet; every sweep recovers them first. */
  readonly journals?: readonly Journals[];
  /** This process, as other processes see it in the loop's lease. @default a random id */
  readonly holder?: string;
  readonly wait?: Wait;
}

/** How the loop runs. */
export interface RunOptions {
  /** A span such as `30s`, or milliseconds. */
  readonly every?: string | number;
  /** A cron expression, UTC. */
  readonly cron?: string;
  /** Stop after one backfill and one sweep. */
  readonly once?: boolean;
  readonly signal?: AbortSignal;
  readonly log?: PassLog;
}

/** Heals terminal task rows from the log, and says what is owed. Never cancels or stops anything on its own authority. */
export interface Reconciler {
  /** At boot: every terminal row that may have stopped being true. */
  backfill(options?: PassOptions): Promise<BackfillReport | PlanChanged>;
  /** Periodically: orphaned runs through the gateway, then the tasks whose runs settled since the last sweep. */
  sweep(options?: PassOptions & { readonly live?: LiveTaskIds }): Promise<SweepReport | PlanChanged>;
  /** On the kill path: one task's row, now. */
  clear(taskId: string, options?: PassOptions): Promise<ClearReport | PlanChanged>;
  /** What is owed. Without ids: the tasks that owe something; `all`: every task with a row or a debt. */
  audit(taskIds?: readonly string[], options?: { readonly all?: boolean }): Promise<AuditReport>;
  stats(): Promise<Stats>;
  /** The loop: one backfill, then sweeps, one pass at a time and one leader among processes, until the signal aborts. */
  run(options: RunOptions): Promise<void>;
}

/** Builds a reconciler over a ledger. */
export function createReconciler(ledger: Ledger, options: ReconcilerOptions = {}): Reconciler {
  const context: HealContext = { ledger, rows: options.rows ?? ledger.rows };
  const holder = options.holder ?? `reconciler-${crypto.randomUUID()}`;

  async function noted<Report extends BackfillReport | SweepReport | PlanChanged>(
    name: string,
    report: Report,
    tried: readonly string[],
  ): Promise<Report> {
    if ('outcome' in report || report.plan !== undefined) return report;
    const now = new Date(ledger.clock.now()).toISOString();
    await recordFailures(ledger.state, { tried, failed: report.failed, now });
    await recordPass(ledger, name, countsOf(report));
    return report;
  }

  const reconciler: Reconciler = {
    backfill: async (pass = {}) => {
      const { report, tried } = await backfill(context, pass);
      return noted('backfill', report, tried);
    },
    sweep: async (pass = {}) => {
      const { report, tried } = await sweep(context, {
        ...pass,
        live: pass.live ?? options.liveTaskIds,
        recoverable: options.recoverableTaskIds,
        gateway: toFactory(options.gateway ?? noGateway),
        journals: options.journals ?? [],
        costs: options.costs,
        patches: options.patches,
        bodies: options.bodies,
      });
      return noted('sweep', report, tried);
    },
    clear: (taskId, pass = {}) => clearTask(context, taskId, pass),
    audit: async (taskIds, { all = false } = {}) =>
      auditTasks(
        auditedLedger(ledger, context.rows),
        taskIds !== undefined && taskIds.length > 0 ? taskIds : all ? await allTaskIds(ledger) : null,
      ),
    stats: () => readStats(ledger),
    run: async (run) =>
      runLoop({
        passes: { backfill: () => reconciler.backfill(), sweep: () => reconciler.sweep() },
        schedule:
          run.once === true && run.every === undefined && run.cron === undefined
            ? toSchedule({ every: '30s' })
            : toSchedule(run),
        leaders: ledger.leaders,
        holder,
        clock: ledger.clock,
        wait: options.wait ?? hostWait,
        log: run.log ?? silentLog,
        signal: run.signal ?? new AbortController().signal,
        once: run.once ?? false,
      }),
  };
  return reconciler;
}

/** The numbers of a report, for `stats`. */
function countsOf(report: BackfillReport | SweepReport): JsonObject {
  return Object.fromEntries(
    Object.entries(report).flatMap(([field, value]): [string, number][] => {
      if (typeof value === 'number') return [[field, value]];
      return Array.isArray(value) ? [[field, value.length]] : [];
    }),
  );
}

/** A gateway that is handed in belongs to its caller; one that a factory builds is closed after each sweep. */
function toFactory(gateway: RunGateway | RunGatewayFactory): RunGatewayFactory {
  return typeof gateway === 'function' ? gateway : () => keptOpen(gateway);
}

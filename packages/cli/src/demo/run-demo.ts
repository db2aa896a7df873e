import type { ImportResult, JsonValue, Ledger, VerifyReport } from '@custody/ledger';
import { importInto, isJsonObject } from '@custody/ledger';
import type { BackfillReport, Reconciler, SweepReport } from '@custody/reconciler';
import { createReconciler } from '@custody/reconciler';
import { changedFields, readFrozenFields } from './frozen-fields.ts';
import type { Example } from './pick-examples.ts';
import { pickExamples } from './pick-examples.ts';

/** Everything that the demo did, read back from the store. */
export interface DemoReport {
  readonly store: string;
  readonly imported: Pick<ImportResult, 'appended' | 'rows_written' | 'rows_skipped' | 'skipped'>;
  readonly backfill: BackfillReport;
  readonly sweep: SweepReport;
  /** Some of the rows that lied: what they said, and what they say now. */
  readonly examples: readonly Example[];
  readonly frozen: { readonly compared: number; readonly changed: readonly string[] };
  /** A task whose frozen counter and live evidence now differ, on purpose. */
  readonly frozen_example: {
    readonly task_id: string;
    readonly delegated_runs_settled: number;
    readonly evidence_settled: number;
  } | null;
  /** A run that settles while the demo looks, and what the sweep made of its task's row; null if none was open. */
  readonly late: LateSettlement | null;
  /** Rows that a second backfill changed. */
  readonly second_backfill_refreshed: number;
  readonly verify: Pick<VerifyReport, 'ok' | 'events' | 'head_seq' | 'head_hash'>;
}

/** One run that ended after its task did. */
interface LateSettlement {
  readonly task_id: string;
  readonly run_id: string;
  /** What the row disclosed before and after the sweep. */
  readonly before: JsonValue;
  readonly after: JsonValue;
}

/** Imports a data root, heals it, and shows that what must not move did not. */
export async function runDemo(ledger: Ledger, root: string): Promise<DemoReport> {
  const { appended, rows_written, rows_skipped, skipped } = await importInto(ledger, root);
  const reconciler = createReconciler(ledger);
  const frozen = await readFrozenFields(ledger);
  const { plan = [] } = healed(await reconciler.backfill({ dryRun: true }));
  const backfill = healed(await reconciler.backfill());
  const second = healed(await reconciler.backfill());
  const late = await settleOpenRun(ledger, reconciler);
  const sweep = healed(await reconciler.sweep());
  const { ok, events, head_seq, head_hash } = await ledger.verify({ rebuild: true });
  return {
    store: ledger.url,
    imported: { appended, rows_written, rows_skipped, skipped },
    backfill,
    sweep,
    examples: await Promise.all(pickExamples(plan).map((example) => asItStands(ledger, example))),
    frozen: { compared: frozen.size, changed: changedFields(frozen, await readFrozenFields(ledger)) },
    frozen_example: await frozenExample(ledger, backfill),
    late: late === null ? null : { ...late, after: await listOf(ledger, late.task_id) },
    second_backfill_refreshed: second.refreshed.length,
    verify: { ok, events, head_seq, head_hash },
  };
}

/** A run that everybody had given up ends well after all: the event that its executor would append. */
async function settleOpenRun(
  ledger: Ledger,
  reconciler: Reconciler,
): Promise<Omit<LateSettlement, 'after'> | null> {
  const { tasks } = await reconciler.audit();
  const task = tasks.find(
    ({ terminal, current, audit }) =>
      terminal &&
      current &&
      audit.audit_status === 'ok' &&
      audit.unreconciled.length === 1 &&
      audit.open_run_ids.length === 1,
  );
  if (task === undefined || task.audit.audit_status === 'failed') return null;
  const [run_id = ''] = task.audit.open_run_ids;
  await ledger.append([
    {
      type: 'run.settled',
      run_id,
      state: 'succeeded',
      cost_usd: 1.25,
      spend_disclosed: true,
      spend_estimated: false,
    },
  ]);
  return { task_id: task.task_id, run_id, before: await listOf(ledger, task.task_id) };
}

async function listOf(ledger: Ledger, taskId: string): Promise<JsonValue> {
  return (await ledger.rows.load(taskId))?.row.value['delegated_runs_unreconciled'] ?? null;
}

type Healed<Report> = Exclude<Report, { readonly outcome: 'refused' }>;

/** Without a plan that was named, a pass is never refused. */
function healed<Report extends object>(report: Report): Healed<Report> {
  if ('outcome' in report) throw new Error('a pass without a plan was refused');
  return report as Healed<Report>;
}

/** The example with what the row says now, not with what was planned. */
async function asItStands(ledger: Ledger, example: Example): Promise<Example> {
  const loaded = await ledger.rows.load(example.task_id);
  return { ...example, after: loaded?.row.value[example.field] ?? null };
}

async function frozenExample(
  ledger: Ledger,
  { refreshed }: BackfillReport,
): Promise<DemoReport['frozen_example']> {
  for (const task_id of refreshed) {
    const value = (await ledger.rows.load(task_id))?.row.value ?? {};
    const envelope = value['subagent_envelope'];
    const evidence = isJsonObject(envelope) ? envelope['execution_evidence'] : null;
    const counter = value['delegated_runs_settled'];
    const settled = isJsonObject(evidence) ? evidence['delegated_runs_settled'] : null;
    if (typeof counter !== 'number' || typeof settled !== 'number' || counter >= settled) continue;
    return { task_id, delegated_runs_settled: counter, evidence_settled: settled };
  }
  return null;
}

import type {
  ConfirmedRow,
  Ledger,
  LoadedRow,
  RowUpdateResult,
  TaskCustody,
  TaskRows,
} from '@custody/ledger';
import { evidenceOf, isTerminalStatus } from '@custody/ledger';
import type { Trigger } from '../core/audit.ts';
import { audit, auditSource } from '../core/audit.ts';
import type { Heal } from '../core/plan-heal.ts';
import { planHeal } from '../core/plan-heal.ts';

/** Where heals are read from and written to. */
export interface HealContext {
  readonly ledger: Ledger;
  /** The rows to heal: the ledger's own, or the orchestrator's. */
  readonly rows: TaskRows;
}

/** A heal with the versions that its write is bound to. */
export interface PlannedHeal {
  readonly heal: Heal;
  readonly version: string;
  readonly custodySeq: number;
}

/** A task that could not be healed, and why. */
export interface HealFailure {
  readonly task_id: string;
  readonly error: string;
}

/** What a look at some tasks found. */
export interface HealPage {
  readonly heals: readonly PlannedHeal[];
  /** Ids whose task has not ended, or that have no row. */
  readonly notTerminal: readonly string[];
  readonly confirmed: readonly ConfirmedRow[];
  readonly failed: readonly HealFailure[];
}

/** What became of the writes. */
export interface HealOutcome {
  readonly refreshed: readonly string[];
  readonly failed: readonly HealFailure[];
  /** Rows that were healed while the log could not take the event that tells of it. */
  readonly evidenceMissing: readonly string[];
}

/** Tasks read and written together: one transaction each way, and a bound on memory. */
const PAGE = 200;

/** A row that changes under every attempt is left to the next pass. */
const MAX_ATTEMPTS = 5;

/** Splits ids, or whatever stands for them, into pages. */
export function pagesOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  const pages: (readonly Item[])[] = [];
  for (let start = 0; start < items.length; start += PAGE) pages.push(items.slice(start, start + PAGE));
  return pages;
}

/** Looks at the rows of some tasks; one that can't be read or planned never stops the others. */
export async function planPage(
  context: HealContext,
  taskIds: readonly string[],
  trigger: Trigger,
): Promise<HealPage> {
  const page = {
    heals: [] as PlannedHeal[],
    notTerminal: [] as string[],
    confirmed: [] as ConfirmedRow[],
    failed: [] as HealFailure[],
  };
  // Rows first: those that are not terminal need no look at the log.
  const terminal = await loadTerminal(context, taskIds, page);
  if (terminal.size === 0) return page;
  const readable = await context.ledger.custody.isReadable();
  const custodies = await context.ledger.custody.tasks([...terminal.keys()]);
  for (const [taskId, loaded] of terminal) {
    try {
      const custody = custodies.get(taskId);
      if (custody !== undefined) planOne({ loaded, custody, readable, trigger }, page);
    } catch (error) {
      page.failed.push({ task_id: taskId, error: messageOf(error) });
    }
  }
  return page;
}

async function loadTerminal(
  context: HealContext,
  taskIds: readonly string[],
  page: { readonly notTerminal: string[]; readonly failed: HealFailure[] },
): Promise<ReadonlyMap<string, LoadedRow>> {
  const terminal = new Map<string, LoadedRow>();
  // One row that can't be read must not hide the others: then each is loaded alone.
  const many = await context.rows.loadMany?.(taskIds).catch(() => undefined);
  for (const taskId of taskIds) {
    try {
      const loaded = many === undefined ? await context.rows.load(taskId) : (many.get(taskId) ?? null);
      if (loaded !== null && isTerminalStatus(loaded.row.status)) terminal.set(taskId, loaded);
      else page.notTerminal.push(taskId);
    } catch (error) {
      page.failed.push({ task_id: taskId, error: messageOf(error) });
    }
  }
  return terminal;
}

function planOne(
  {
    loaded,
    custody,
    readable,
    trigger,
  }: { loaded: LoadedRow; custody: TaskCustody; readable: boolean; trigger: Trigger },
  page: { heals: PlannedHeal[]; notTerminal: string[]; confirmed: ConfirmedRow[] },
): void {
  const plan = planHeal({
    row: loaded.row,
    custody,
    audit: audit(custody.task_id, trigger, auditSource(custody, readable)),
    evidence: evidenceOf(custody, readable),
  });
  if (plan.kind === 'not_terminal') {
    page.notTerminal.push(custody.task_id);
    return;
  }
  const place = { version: loaded.version, custodySeq: custody.facts.last_seq };
  if (plan.kind === 'heal') page.heals.push({ heal: plan.heal, ...place });
  else if (plan.confirms)
    page.confirmed.push({ task_id: custody.task_id, version: place.version, custody_seq: place.custodySeq });
}

/** Writes planned heals, each under its compare-and-set, and the evidence of those that changed a row. */
export async function applyHeals(
  context: HealContext,
  heals: readonly PlannedHeal[],
): Promise<HealOutcome & { readonly changed: readonly string[] }> {
  if (heals.length === 0) return { refreshed: [], failed: [], evidenceMissing: [], changed: [] };
  const results = await context.rows.update(
    heals.map(({ heal, version, custodySeq }) => ({
      task_id: heal.task_id,
      expected_version: version,
      custody_seq: custodySeq,
      live: heal.live,
      confirms: heal.confirms,
      evidence: heal.evidence,
    })),
  );
  const outcome = {
    refreshed: [] as string[],
    failed: [] as HealFailure[],
    evidenceMissing: [] as string[],
    changed: [] as string[],
  };
  for (const [index, planned] of heals.entries())
    await collect(context, { planned, result: results[index] }, outcome);
  return outcome;
}

async function collect(
  context: HealContext,
  {
    planned: { heal },
    result,
  }: { readonly planned: PlannedHeal; readonly result: RowUpdateResult | undefined },
  outcome: { refreshed: string[]; failed: HealFailure[]; evidenceMissing: string[]; changed: string[] },
): Promise<void> {
  switch (result?.outcome) {
    case 'updated':
      outcome.refreshed.push(heal.task_id);
      if (result.evidence === 'missing') outcome.evidenceMissing.push(heal.task_id);
      if (result.evidence === 'not_supported') await recordEvidence(context, heal, outcome);
      return;
    case 'changed_meanwhile':
      outcome.changed.push(heal.task_id);
      return;
    case 'failed':
      outcome.failed.push({ task_id: heal.task_id, error: messageOf(result.error) });
      return;
    case 'gone':
      return;
    case undefined:
      outcome.failed.push({ task_id: heal.task_id, error: 'the store left the update unanswered' });
  }
}

/** Rows of another database change first, then the log hears of it. */
async function recordEvidence(
  context: HealContext,
  heal: Heal,
  outcome: { evidenceMissing: string[] },
): Promise<void> {
  try {
    await context.ledger.append([heal.evidence], { writer: 'ledger' });
  } catch {
    outcome.evidenceMissing.push(heal.task_id);
  }
}

/** Plans and writes until every row was either healed, found true, or failed. */
export async function healTasks(
  context: HealContext,
  taskIds: readonly string[],
  trigger: Trigger,
): Promise<HealOutcome & { readonly notTerminal: readonly string[] }> {
  const total = {
    refreshed: [] as string[],
    failed: [] as HealFailure[],
    evidenceMissing: [] as string[],
    notTerminal: [] as string[],
  };
  let open = taskIds;
  for (let attempt = 1; open.length > 0; attempt += 1) {
    const page = await planPage(context, open, trigger);
    if (page.confirmed.length > 0) await context.rows.confirm?.(page.confirmed);
    const outcome = await applyHeals(context, page.heals);
    total.refreshed.push(...outcome.refreshed);
    total.failed.push(...page.failed, ...outcome.failed);
    total.evidenceMissing.push(...outcome.evidenceMissing);
    total.notTerminal.push(...page.notTerminal);
    open = outcome.changed;
    if (attempt < MAX_ATTEMPTS) continue;
    total.failed.push(
      ...open.map((task_id) => ({
        task_id,
        error: `the row changed under each of ${MAX_ATTEMPTS} attempts`,
      })),
    );
    break;
  }
  return total;
}

/** An error as one line for a report. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

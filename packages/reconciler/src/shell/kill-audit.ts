import type { JsonObject, Ledger, LoadedRow, NewEvent } from '@custody/ledger';
import { isTerminalStatus, toTaskRow } from '@custody/ledger';
import type { Audit, Trigger } from '../core/audit.ts';
import { audit, auditSource, evidenceEvent, failedAudit } from '../core/audit.ts';
import { isDisclosed } from '../core/disclosure.ts';
import type { OwnerVerdict } from '../core/owner-verdict.ts';
import type { HealContext } from './heal-rows.ts';
import { healTasks, messageOf } from './heal-rows.ts';
import type { GatewayOptions } from './reconcile-orphans.ts';
import { reconcileTaskRuns } from './reconcile-orphans.ts';
import { recordEvents } from './record-events.ts';

/** The ends of a task at which its custody is audited (docs/contracts/custody.md, 3 and 7). */
export type BoundaryTrigger = Extract<
  Trigger,
  'terminal_boundary' | 'loop_exit' | 'cancel_publication' | `reaper_${string}`
>;

/** How a boundary is audited. */
export interface BoundaryOptions extends GatewayOptions {
  /** @default 'terminal_boundary' */
  readonly trigger?: BoundaryTrigger;
  /** The deliberate end that the caller is about to write: it writes after the audit, so the row can't tell yet. */
  readonly verdict?: OwnerVerdict;
}

/** What an audit at a boundary found. */
export interface BoundaryAudit {
  readonly audit: Audit;
  /** Whether the log took the evidence event. There is one, dirty or clean (V8). */
  readonly evidence: 'recorded' | 'missing';
  /** Why runs could not be reconciled; the audit was made all the same. */
  readonly reconcile_error: string | null;
}

/**
 * Reconciles a task's runs, audits it, and writes one evidence event. The row is the caller's: it records the audit
 * with {@link recordBoundary}, or puts it into its terminal write with {@link writeEnd}. Never throws.
 */
export async function auditBoundary(
  context: HealContext,
  taskId: string,
  options: BoundaryOptions,
): Promise<BoundaryAudit> {
  const trigger = options.trigger ?? 'terminal_boundary';
  const reconciled = await reconcileOrTell(context, taskId, options);
  const found: Audit = { ...(await auditNow(context, taskId, trigger)), outcomes: reconciled.outcomes };
  const evidence = await recordEvidence(context, evidenceEvent(found));
  return { audit: found, evidence, reconcile_error: reconciled.error };
}

async function reconcileOrTell(
  context: HealContext,
  taskId: string,
  options: BoundaryOptions,
): Promise<{ readonly outcomes: readonly JsonObject[]; readonly error: string | null }> {
  try {
    const report = await reconcileTaskRuns(context, taskId, options);
    return { outcomes: report.outcomes, error: report.error };
  } catch (error) {
    return { outcomes: [], error: messageOf(error) };
  }
}

/** An audit that breaks is an audit that failed closed. */
async function auditNow({ ledger }: HealContext, taskId: string, trigger: Trigger): Promise<Audit> {
  if (taskId === '') return failedAudit(taskId, trigger, 'missing_task_id');
  try {
    const readable = await ledger.custody.isReadable();
    const custody = (await ledger.custody.tasks([taskId])).get(taskId);
    return custody === undefined
      ? failedAudit(taskId, trigger, 'audit_failed')
      : audit(taskId, trigger, auditSource(custody, readable));
  } catch {
    return failedAudit(taskId, trigger, 'audit_failed');
  }
}

/** An audit of no task has nobody to be evidence for. */
async function recordEvidence({ ledger }: HealContext, event: NewEvent): Promise<BoundaryAudit['evidence']> {
  if (event.task_id === '') return 'missing';
  const recorded = await recordEvents(ledger, [event]);
  return recorded.outcome === 'lost' ? 'missing' : 'recorded';
}

/** What became of a boundary's audit on the row. */
export type BoundaryRecord =
  /** `minted`: there was no row, and the task owes something. */
  | { readonly outcome: 'recorded'; readonly minted: boolean }
  /** The row says it already, or there is no row and nothing to say. */
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'failed'; readonly error: string };

/**
 * Puts a boundary's audit on the task's row in this ledger: two live fields, never the status. Only here, where the task's own end
 * is at hand, is a row minted for a task that has none and owes something; a healer never does (P8).
 */
export async function recordBoundary(ledger: Ledger, found: Audit): Promise<BoundaryRecord> {
  if (found.task_id === '') return { outcome: 'unchanged' };
  try {
    const loaded = await ledger.rows.load(found.task_id);
    if (loaded !== null && isTerminalStatus(loaded.row.status)) return await healTerminal(ledger, found);
    return await putDisclosure(ledger, found, loaded);
  } catch (error) {
    return { outcome: 'failed', error: messageOf(error) };
  }
}

/** A row that has ended takes live fields by compare-and-set only, from an audit of this very moment. */
async function healTerminal(ledger: Ledger, found: Audit): Promise<BoundaryRecord> {
  const healed = await healTasks({ ledger, rows: ledger.rows }, [found.task_id], found.trigger);
  const failure = healed.failed[0];
  if (failure !== undefined) return { outcome: 'failed', error: failure.error };
  return healed.refreshed.length > 0 ? { outcome: 'recorded', minted: false } : { outcome: 'unchanged' };
}

async function putDisclosure(
  ledger: Ledger,
  found: Audit,
  loaded: LoadedRow | null,
): Promise<BoundaryRecord> {
  if (isDisclosed(loaded?.row.value ?? {}, found)) return { outcome: 'unchanged' };
  // A row that is there keeps its status: it is not even named, so that a newer one can't be overwritten.
  const fields = loaded === null ? { status: 'running' } : {};
  const [result] = await ledger.rows.put([rowOf({ task_id: found.task_id, ...fields }, found)]);
  switch (result?.outcome) {
    case 'written':
      return { outcome: 'recorded', minted: loaded === null };
    case 'unchanged':
    case 'refused':
      // Somebody ended the task in between: its row is a terminal one now.
      return healTerminal(ledger, found);
    case undefined:
      return { outcome: 'failed', error: 'the store left the write unanswered' };
  }
}

function rowOf(
  fields: JsonObject & { readonly task_id: string },
  found: Audit,
): ReturnType<typeof toTaskRow> {
  const document = {
    ...fields,
    delegated_runs_unreconciled: found.unreconciled,
    delegate_terminal_reconciliation: found,
  };
  return toTaskRow(
    new Map(Object.entries(document).map(([key, value]) => [key, JSON.stringify(value)])),
    fields.task_id,
  );
}

/** The boundary of a loop that ends by itself: audit, then record. */
export async function auditLoopExit(
  context: HealContext,
  taskId: string,
  options: GatewayOptions,
): Promise<BoundaryAudit & { readonly record: BoundaryRecord }> {
  const found = await auditBoundary(context, taskId, { ...options, trigger: 'loop_exit' });
  return { ...found, record: await recordBoundary(context.ledger, found.audit) };
}

/** The terminal fields that a killer writes. */
export interface EndOfTask {
  readonly task_id: string;
  readonly status: 'cancelled' | 'failed';
  readonly [field: string]: JsonObject[string];
}

/** What became of a killer's terminal write. */
export type EndWritten =
  | { readonly outcome: 'written' }
  /** The task ended by itself; its row stands. Clear it with the kill path's refresh. */
  | { readonly outcome: 'already_settled'; readonly status: string }
  /** There is no row, and a killer mints none. */
  | { readonly outcome: 'not_found' };

/**
 * The one terminal write of a task that was killed: status, list and envelope together, so that no reader sees the
 * end without what it left behind.
 *
 * @throws InvalidRowError for a row that can't be read; it is left as it is.
 */
export async function writeEnd(ledger: Ledger, end: EndOfTask, found: Audit): Promise<EndWritten> {
  const loaded = await ledger.rows.load(end.task_id);
  if (loaded === null) return { outcome: 'not_found' };
  if (isTerminalStatus(loaded.row.status)) return { outcome: 'already_settled', status: loaded.row.status };
  const [result] = await ledger.rows.put([rowOf(end, found)]);
  if (result?.outcome === 'written') return { outcome: 'written' };
  const now = await ledger.rows.load(end.task_id);
  return { outcome: 'already_settled', status: now?.row.status ?? '' };
}

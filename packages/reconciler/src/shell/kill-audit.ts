import type { JsonObject, Ledger, NewEvent, TaskRow } from '@custody/ledger';
import { isTerminalStatus, toTaskRow } from '@custody/ledger';
import type { Audit, Trigger } from '../core/audit.ts';
import { audit, auditSource, evidenceEvent, failedAudit } from '../core/audit.ts';
import { isDisclosed } from '../core/disclosure.ts';
import type { OwnerVerdict } from '../core/owner-verdict.ts';
import { envelopeFor } from '../core/plan-heal.ts';
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
  /** The one event that tells of it, dirty or clean (V8). */
  readonly event: NewEvent;
  /** Whether the log took the event. */
  readonly evidence: 'recorded' | 'missing';
  /** Where the task stood in the log when it was audited. */
  readonly custody_seq: number;
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
  const reconciled = await reconcileOrTell(context, taskId, options);
  const found = await auditNow(context.ledger, taskId, {
    trigger: options.trigger ?? 'terminal_boundary',
    outcomes: reconciled.outcomes,
  });
  // An audit of no task has nobody to be evidence for.
  const recorded = taskId === '' ? null : await recordEvents(context.ledger, [found.event]);
  const evidence = recorded === null || recorded.outcome === 'lost' ? 'missing' : 'recorded';
  return { ...found, evidence, reconcile_error: reconciled.error };
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

type Found = Pick<BoundaryAudit, 'audit' | 'event' | 'custody_seq'>;

async function auditNow(
  ledger: Ledger,
  taskId: string,
  about: { readonly trigger: Trigger; readonly outcomes: readonly JsonObject[] },
): Promise<Found> {
  const { audit: found, custodySeq } = await auditOrFail(ledger, taskId, about.trigger);
  const complete: Audit = { ...found, outcomes: about.outcomes };
  // Under an id of its own, so that the row's write can carry the event without saying it twice.
  const event = { ...evidenceEvent(complete), id: `boundary:${crypto.randomUUID()}` };
  return { audit: complete, event, custody_seq: custodySeq };
}

/** An audit that breaks is an audit that failed closed. */
async function auditOrFail(
  ledger: Ledger,
  taskId: string,
  trigger: Trigger,
): Promise<{ readonly audit: Audit; readonly custodySeq: number }> {
  if (taskId === '') return { audit: failedAudit(taskId, trigger, 'missing_task_id'), custodySeq: 0 };
  try {
    const readable = await ledger.custody.isReadable();
    const custody = (await ledger.custody.tasks([taskId])).get(taskId);
    if (custody === undefined) return { audit: failedAudit(taskId, trigger, 'audit_failed'), custodySeq: 0 };
    return {
      audit: audit(taskId, trigger, auditSource(custody, readable)),
      custodySeq: custody.facts.last_seq,
    };
  } catch {
    return { audit: failedAudit(taskId, trigger, 'audit_failed'), custodySeq: 0 };
  }
}

/** What became of a boundary's audit on the row. */
export type BoundaryRecord =
  /** `minted`: there was no row, and the task owes something. */
  | { readonly outcome: 'recorded'; readonly minted: boolean }
  /** The row says it already, or there is no row and nothing to say. */
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'failed'; readonly error: string };

/** A row that changes under every attempt is left to the next pass. */
const MAX_ATTEMPTS = 5;

/**
 * Puts a boundary's audit on the task's row in this ledger: live fields, never the status. Only here, where the
 * task's own end is at hand, is a row minted for a task that has none and owes something; a healer never does (P8).
 */
export async function recordBoundary(ledger: Ledger, boundary: Found): Promise<BoundaryRecord> {
  const { task_id: taskId, trigger, outcomes } = boundary.audit;
  if (taskId === '') return { outcome: 'unchanged' };
  let found = boundary;
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const record = await recordOnce(ledger, found);
      if (record !== null) return record;
      // The row or the log went on: what was found may no longer be true.
      found = await auditNow(ledger, taskId, { trigger, outcomes });
    }
    return { outcome: 'failed', error: `the row changed under each of ${MAX_ATTEMPTS} attempts` };
  } catch (error) {
    return { outcome: 'failed', error: messageOf(error) };
  }
}

/** One attempt; null if the row or the log changed in between. */
async function recordOnce(ledger: Ledger, found: Found): Promise<BoundaryRecord | null> {
  const loaded = await ledger.rows.load(found.audit.task_id);
  if (isDisclosed(loaded?.row.value ?? {}, found.audit)) return { outcome: 'unchanged' };
  if (loaded === null) return mint(ledger, found.audit);
  // A row that has ended is healed as any other one: its evidence may be stale, too.
  if (isTerminalStatus(loaded.row.status)) return healEnded(ledger, found.audit);
  const [result] = await ledger.rows.update([
    {
      task_id: found.audit.task_id,
      expected_version: loaded.version,
      custody_seq: found.custody_seq,
      live: {
        delegated_runs_unreconciled: found.audit.unreconciled,
        delegate_terminal_reconciliation: envelopeFor(loaded.row, found.audit),
      },
      confirms: found.audit.audit_status === 'ok',
      evidence: found.event,
    },
  ]);
  switch (result?.outcome) {
    case 'updated':
      return { outcome: 'recorded', minted: false };
    case 'failed':
      return { outcome: 'failed', error: messageOf(result.error) };
    case 'changed_meanwhile':
    case 'gone':
      return null;
    case undefined:
      return { outcome: 'failed', error: 'the store left the update unanswered' };
  }
}

async function mint(ledger: Ledger, found: Audit): Promise<BoundaryRecord | null> {
  const [result] = await ledger.rows.put([rowOf({ task_id: found.task_id, status: 'running' }, found)]);
  return result?.outcome === 'written' ? { outcome: 'recorded', minted: true } : null;
}

async function healEnded(ledger: Ledger, found: Audit): Promise<BoundaryRecord> {
  const healed = await healTasks({ ledger, rows: ledger.rows }, [found.task_id], found.trigger);
  const failure = healed.failed[0];
  if (failure !== undefined) return { outcome: 'failed', error: failure.error };
  return healed.refreshed.length > 0 ? { outcome: 'recorded', minted: false } : { outcome: 'unchanged' };
}

function rowOf(
  fields: JsonObject & { readonly task_id: string },
  found: Audit,
  envelope: Audit | JsonObject = found,
): TaskRow {
  const document = {
    ...fields,
    delegated_runs_unreconciled: found.unreconciled,
    delegate_terminal_reconciliation: envelope,
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
  return { ...found, record: await recordBoundary(context.ledger, found) };
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
  | { readonly outcome: 'not_found' }
  /** The row is not the killer's to end: fields that only commands write. */
  | { readonly outcome: 'refused'; readonly fields: readonly string[] };

/**
 * The one terminal write of a task that was killed: status, list and envelope together, so that no reader sees the
 * end without what it left behind.
 *
 * @throws InvalidRowError for a row that can't be read; it is left as it is.
 */
export async function writeEnd(
  ledger: Ledger,
  end: EndOfTask,
  { audit: found }: Pick<BoundaryAudit, 'audit'>,
): Promise<EndWritten> {
  const loaded = await ledger.rows.load(end.task_id);
  if (loaded === null) return { outcome: 'not_found' };
  if (isTerminalStatus(loaded.row.status)) return { outcome: 'already_settled', status: loaded.row.status };
  const [result] = await ledger.rows.put([rowOf(end, found, envelopeFor(loaded.row, found))]);
  if (result?.outcome === 'written') return { outcome: 'written' };
  const status = (await ledger.rows.load(end.task_id))?.row.status ?? '';
  if (isTerminalStatus(status)) return { outcome: 'already_settled', status };
  return { outcome: 'refused', fields: result?.outcome === 'refused' ? result.fields : [] };
}

import type { NewEvent, RunRecord } from '@custody/ledger';
import {
  closedAbsentEvent,
  faultResolvedEvent,
  ledgerRecordedEvent,
  leftUnreadEvent,
  patchCapturedEvent,
  settledEvent,
  settleFailedEvent,
} from '../core/run-events.ts';
import type { TerminalDetail } from '../core/terminal-detail.ts';
import { messageOf } from './heal-rows.ts';
import type { OrphanPass } from './orphan-context.ts';
import type { Recorded } from './record-events.ts';

/** What a settlement did. */
export interface SettleAnswer {
  /** True if the log has an end of the run, ours or one that was faster. */
  readonly settled: boolean;
  readonly ledger_recorded: boolean;
  readonly project_retired: boolean;
  readonly project_persistent: boolean;
  readonly error?: string;
}

/**
 * Settles a run (docs/contracts/custody.md, 8.4): book the cost, say so, then the end and what follows from it in
 * one append. Idempotent: every event has the id of its run, so two processes that settle at once write one end,
 * and after a crash between any two steps the next pass goes on. The first verdict stands, whoever wrote it.
 */
export async function settleRun(
  pass: OrphanPass,
  run: RunRecord,
  detail: TerminalDetail,
): Promise<SettleAnswer> {
  const current = (await pass.ledger.custody.run(run.run_id)) ?? run;
  if (current.settled) return answer(current, { settled: true, ledgerRecorded: current.ledger_recorded });
  const booked = await bookCost(pass, current, detail);
  if (booked.error !== undefined)
    return answer(current, { settled: false, ledgerRecorded: booked.recorded, error: booked.error });
  const events = [settledEvent(current, detail), ...(await consequencesOf(pass, current))];
  const ended = await confirmEnd(pass, current, await pass.record(events));
  return answer(current, {
    settled: ended.ended,
    ledgerRecorded: ended.ended || booked.recorded,
    error: ended.error,
  });
}

/** Closes a run that its executor does not have. An absence is no verdict: a later settle still gives the run its state. */
export async function closeAbsent(
  pass: OrphanPass,
  run: RunRecord,
  reason: string,
): Promise<{ readonly ended: boolean; readonly error?: string | undefined }> {
  const resolved = await resolutionOf(pass, run, 'verified_absent');
  return confirmEnd(pass, run, await pass.record([closedAbsentEvent(run, reason), ...resolved]));
}

async function consequencesOf(pass: OrphanPass, run: RunRecord): Promise<readonly NewEvent[]> {
  const unread = leftUnreadEvent(run);
  return [...(unread === null ? [] : [unread]), ...(await resolutionOf(pass, run, 'settled_terminal'))];
}

/** An end closes an open fault by itself; the resolution says so for readers of the timeline. */
async function resolutionOf(pass: OrphanPass, run: RunRecord, reason: string): Promise<readonly NewEvent[]> {
  return (await pass.openFaultOf(run.run_id)) === null ? [] : [faultResolvedEvent(run, reason)];
}

/** An end that was forestalled is an end if, and only if, the log now has one. */
async function confirmEnd(
  pass: OrphanPass,
  run: RunRecord,
  recorded: Recorded,
): Promise<{ readonly ended: boolean; readonly error?: string }> {
  if (recorded.outcome === 'recorded') return { ended: true };
  if (recorded.outcome === 'lost') return { ended: false, error: recorded.error };
  const current = await pass.ledger.custody.run(run.run_id);
  return current?.settled === true
    ? { ended: true }
    : { ended: false, error: 'the id of the end stands for another event' };
}

/** A cost that was booked and not yet said is booked again under the same key after a crash; see {@link CostLedger}. */
async function bookCost(
  pass: OrphanPass,
  run: RunRecord,
  detail: TerminalDetail,
): Promise<{ readonly recorded: boolean; readonly error?: string }> {
  const { costs } = pass.ports;
  if (costs === undefined || run.ledger_recorded) return { recorded: run.ledger_recorded };
  try {
    await costs.record({ key: run.run_id, run, detail });
  } catch (error) {
    await pass.record([settleFailedEvent(run, 'ledger_write', messageOf(error))]);
    return { recorded: false, error: messageOf(error) };
  }
  const said = await pass.record([ledgerRecordedEvent(run)]);
  return said.outcome === 'lost' ? { recorded: false, error: said.error } : { recorded: true };
}

function answer(
  run: RunRecord,
  facts: { readonly settled: boolean; readonly ledgerRecorded: boolean; readonly error?: string | undefined },
): SettleAnswer {
  return {
    settled: facts.settled,
    ledger_recorded: facts.ledgerRecorded,
    project_retired: !run.project_owned && !run.project_persistent,
    project_persistent: run.project_persistent,
    ...(facts.error === undefined ? {} : { error: facts.error }),
  };
}

/**
 * Takes the patch of a run that is proven to have ended. Never of one that is merely absent: it may still write
 * into its snapshot, and a half patch would be served for ever.
 */
export async function capturePatch(
  pass: OrphanPass,
  run: RunRecord,
): Promise<{ readonly patch_captured?: boolean; readonly error?: string }> {
  const { patches } = pass.ports;
  if (patches === undefined || run.snapshot_id === '' || run.patch_captured || run.patch_disposed !== '')
    return {};
  try {
    const facts = await patches.capture(run);
    if (facts === null) return {};
    const recorded = await pass.record([patchCapturedEvent(run, facts)]);
    return recorded.outcome === 'lost'
      ? { patch_captured: false, error: recorded.error }
      : { patch_captured: true };
  } catch (error) {
    return { patch_captured: false, error: messageOf(error) };
  }
}

import type { RunRecord } from '@custody/ledger';
import { storableText } from '../core/run-events.ts';
import type { TerminalDetail } from '../core/terminal-detail.ts';
import type { CancelAnswer } from '../ports/run-gateway.ts';
import type { OrphanPass } from './orphan-context.ts';
import { closeAbsent, settleRun } from './settle-run.ts';

/** What is proven of a stop; only `confirmed` means that the run no longer runs. */
export type CancelOutcome = 'confirmed' | 'requested' | 'failed' | 'containment_fault_run_may_still_be_live';

/** The answer of {@link cancelAndVerify}: six keys always, the detail only when a terminal state was read. */
export interface CancelReport {
  readonly outcome: CancelOutcome;
  /** True if the executor took the request. */
  readonly accepted: boolean;
  /** The executor's own word for what it did; empty when it said nothing. */
  readonly control_status: string;
  /** What the run was read as: a state, `settled`, `absent`, or empty when it could not be read. */
  readonly state: string;
  /** The reason of the fault that was raised; empty when none was. */
  readonly fault_reason: string;
  readonly detail: string;
  readonly terminal_detail?: TerminalDetail;
}

/**
 * Asks for a stop and reports only what a look afterwards proves (docs/contracts/custody.md, 8.5). The caller
 * answers for the right to stop the run.
 */
export async function cancelAndVerify(
  pass: OrphanPass,
  run: RunRecord,
  reason: string,
): Promise<CancelReport> {
  if (run.settled) return finish(pass, run, { outcome: 'confirmed', state: 'settled' });
  const control = await pass.gateway.cancel(run, reason);
  if (control.outcome === 'absent') return absent(pass, run, { reason: 'cancel_run_absent' });
  return verify(pass, run, control);
}

/** A refused control is no verdict on the run: what is read decides. */
async function verify(
  pass: OrphanPass,
  run: RunRecord,
  control: Exclude<CancelAnswer, { outcome: 'absent' }>,
): Promise<CancelReport> {
  const accepted = control.outcome === 'accepted';
  const said = { accepted, control_status: control.outcome === 'unknown' ? '' : (control.status ?? '') };
  const found = await pass.gateway.lookup(run);
  switch (found.outcome) {
    case 'absent':
      return absent(pass, run, { reason: 'get_run_absent', ...said });
    case 'unknown':
      return finish(pass, run, {
        ...said,
        outcome: 'containment_fault_run_may_still_be_live',
        fault_reason: control.outcome === 'unknown' ? 'cancel_unreachable' : 'cancel_unverified',
        detail: control.outcome === 'unknown' ? control.reason : found.reason,
      });
    case 'terminal': {
      const settled = await settleRun(pass, run, found.detail);
      return finish(pass, run, {
        ...said,
        outcome: 'confirmed',
        state: found.detail.state,
        detail: settled.error ?? '',
        terminal_detail: found.detail,
      });
    }
    case 'live':
      return finish(pass, run, { ...said, ...verdictOnLive(control, found.state), state: found.state });
  }
}

async function absent(
  pass: OrphanPass,
  run: RunRecord,
  { reason, ...said }: { readonly reason: string } & Partial<CancelReport>,
): Promise<CancelReport> {
  const closed = await closeAbsent(pass, run, reason);
  return finish(pass, run, { ...said, outcome: 'confirmed', state: 'absent', detail: closed.error ?? '' });
}

function verdictOnLive(
  control: Exclude<CancelAnswer, { outcome: 'absent' }>,
  state: string,
): Pick<CancelReport, 'outcome'> & Partial<CancelReport> {
  switch (control.outcome) {
    case 'accepted':
      return { outcome: 'requested' };
    case 'unknown':
      return {
        outcome: 'containment_fault_run_may_still_be_live',
        fault_reason: 'cancel_unreachable',
        detail: control.reason,
      };
    case 'rejected':
      return {
        outcome: 'failed',
        fault_reason: 'cancel_rejected_run_still_live',
        detail: `the executor refused the cancel${control.reason === undefined ? '' : ` (${control.reason})`}; the run is ${state}`,
      };
  }
}

/** A stop that was asked for is told each time: unlike a look, it is something that was done. */
async function finish(
  pass: OrphanPass,
  run: RunRecord,
  found: Pick<CancelReport, 'outcome'> & Partial<CancelReport>,
): Promise<CancelReport> {
  const { terminal_detail, ...rest } = found;
  const report = { accepted: false, control_status: '', state: '', fault_reason: '', detail: '', ...rest };
  await pass.record([
    {
      type: 'run.cancel_outcome',
      run_id: run.run_id,
      task_id: run.task_id,
      outcome: report.outcome,
      accepted: report.accepted,
      control_status: storableText(report.control_status),
      state: storableText(report.state),
    },
  ]);
  if (report.fault_reason !== '') await pass.raiseFault(run, report.fault_reason, report.detail);
  return terminal_detail === undefined ? report : { ...report, terminal_detail };
}

import type { JsonObject } from './json.ts';
import { own, text } from './json.ts';

/** Types of the ledger by the names that stand in logs of its orchestrator. */
const NAMES: Readonly<Record<string, string>> = {
  'run.start_requested': 'delegate_run_start_requested',
  'run.start_failed': 'delegate_run_start_failed',
  'run.start_blocked': 'delegate_run_start_blocked',
  'run.started': 'delegate_run_started',
  'run.ledger_recorded': 'delegate_run_ledger_recorded',
  'run.settled': 'delegate_run_settled',
  'run.closed_absent': 'delegate_run_closed_absent',
  'output.spilled': 'delegate_run_output_spilled',
  'output.consumed': 'delegate_run_output_consumed',
  'output.left_unread': 'delegate_run_settled_unread',
  'patch.captured': 'delegate_run_patch_captured',
  'patch.apply_started': 'delegate_run_patch_apply_started',
  'patch.apply_resolved': 'delegate_run_patch_apply_resolved',
  'patch.disposed': 'delegate_run_patch_disposed',
  'project.retired': 'delegate_run_project_retired',
  'containment.unconfined': 'delegate_run_unconfined',
  'containment.fault': 'delegate_run_containment_fault',
  'containment.resolved': 'delegate_run_containment_resolved',
};

/** The custody rows that events stand for. Runs that hold a managed task are no delegated runs. */
export function rowsOf(events: readonly JsonObject[]): JsonObject[] {
  const attempts = new Set(
    events.filter((event) => own(event, 'claim') !== undefined).map((event) => text(event, 'run_id')),
  );
  return events.flatMap((event) => {
    const type = NAMES[text(event, 'type')];
    return type === undefined || attempts.has(text(event, 'run_id')) ? [] : [{ ...event, type }];
  });
}

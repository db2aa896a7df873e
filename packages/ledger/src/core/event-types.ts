/** Types that only commands on managed tasks write. */
export const MANAGED_TYPES = {
  'task.created': 'custody_task_created',
  'task.linked': 'custody_task_linked',
  'task.assigned': 'custody_task_assigned',
  'task.commented': 'custody_task_commented',
  'task.blocked': 'custody_task_blocked',
  'task.block_loop_detected': 'custody_task_block_loop_detected',
  'task.dependency_wait': 'custody_task_dependency_wait',
  'task.unblocked': 'custody_task_unblocked',
  'task.specified': 'custody_task_specified',
  'task.decomposed': 'custody_task_decomposed',
  'task.promoted': 'custody_task_promoted',
  'task.completed': 'custody_task_completed',
  'task.failed': 'custody_task_failed',
  'task.cancelled': 'custody_task_cancelled',
  'task.archived': 'custody_task_archived',
  'task.gave_up': 'custody_task_gave_up',
  'question.raised': 'custody_question_raised',
  'question.answered': 'custody_question_answered',
  'verdict.delivered': 'custody_verdict_delivered',
  'run.parked': 'custody_run_parked',
  'run.pushed': 'custody_run_pushed',
  'run.submitted': 'custody_run_submitted',
  'run.ended': 'custody_run_ended',
  'claim.reclaimed': 'custody_claim_reclaimed',
  'claim.extended': 'custody_claim_extended',
  'claim.deferred': 'custody_claim_deferred',
  'lease.restamped': 'custody_lease_restamped',
} as const;

/** A type of {@link MANAGED_TYPES}. */
export type ManagedType = keyof typeof MANAGED_TYPES;

/**
 * Every event type of the ledger beside its name in the `ouroboros` dialect of the JSONL store.
 * One table, read in both directions.
 */
export const EVENT_TYPES = {
  'run.start_requested': 'delegate_run_start_requested',
  'run.start_failed': 'delegate_run_start_failed',
  'run.start_blocked': 'delegate_run_start_blocked',
  'run.startup_fault': 'delegate_run_configured_startup_fault',
  'run.nudge_injected': 'delegate_run_nanny_nudge_injected',
  'run.started': 'delegate_run_started',
  'run.ledger_recorded': 'delegate_run_ledger_recorded',
  'run.settled': 'delegate_run_settled',
  'run.settle_failed': 'delegate_run_settle_failed',
  'run.closed_absent': 'delegate_run_closed_absent',
  'run.cancel_outcome': 'delegate_run_cancel_outcome',
  'run.reconciled': 'delegate_run_reconciled',
  'output.spilled': 'delegate_run_output_spilled',
  'output.consumed': 'delegate_run_output_consumed',
  'output.left_unread': 'delegate_run_settled_unread',
  'patch.captured': 'delegate_run_patch_captured',
  'patch.apply_started': 'delegate_run_patch_apply_started',
  'patch.apply_resolved': 'delegate_run_patch_apply_resolved',
  'patch.disposed': 'delegate_run_patch_disposed',
  'project.retired': 'delegate_run_project_retired',
  'project.retire_failed': 'delegate_run_project_retire_failed',
  'containment.unconfined': 'delegate_run_unconfined',
  'containment.fault': 'delegate_run_containment_fault',
  'containment.resolved': 'delegate_run_containment_resolved',
  'custody.unreconciled': 'delegated_runs_unreconciled',
  'custody.reconciled': 'delegate_terminal_custody_reconciled',
  'task.recorded': 'custody_task_recorded',
  'ledger.checkpoint': 'custody_ledger_checkpoint',
  'ledger.epoch_raised': 'custody_ledger_epoch_raised',
  ...MANAGED_TYPES,
} as const;

/** A type that this version of the ledger knows. */
export type EventType = keyof typeof EVENT_TYPES;

const LEDGER_OWNED: ReadonlySet<string> = new Set<string>([
  'custody.unreconciled',
  'custody.reconciled',
  'ledger.checkpoint',
  'ledger.epoch_raised',
  ...Object.keys(MANAGED_TYPES),
]);

/** The prefix of types that belong to users: stored, chained, listed, never folded. */
export const EXTENSION_PREFIX = 'x.';

/** True if this version folds events of the type. */
export function isKnownType(type: string): type is EventType {
  return Object.hasOwn(EVENT_TYPES, type);
}

/** True if only the ledger itself may write the type. */
export function isLedgerOwnedType(type: string): boolean {
  return LEDGER_OWNED.has(type);
}

const BY_OUROBOROS_NAME: ReadonlyMap<string, EventType> = new Map(
  Object.entries(EVENT_TYPES).map(([type, name]) => [name, type as EventType]),
);

/**
 * The ledger's name of an `ouroboros` row's type.
 * A custody type that this version does not know is kept under `x.`; null for rows that are not custody.
 */
export function typeFromOuroboros(name: string): string | null {
  const known = BY_OUROBOROS_NAME.get(name);
  if (known !== undefined) return known;
  return /^delegate_run[A-Za-z0-9_.:-]*$/.test(name) ? `${EXTENSION_PREFIX}${name}` : null;
}

/**
 * The `ouroboros` name of a type; the inverse of {@link typeFromOuroboros}. A user's type that only looks like
 * a custody row keeps its `x.`: without it, it would come back as the real one.
 */
export function typeToOuroboros(type: string): string {
  if (isKnownType(type)) return EVENT_TYPES[type];
  const foreign = type.slice(EXTENSION_PREFIX.length);
  return type.startsWith(EXTENSION_PREFIX) && typeFromOuroboros(foreign) === type ? foreign : type;
}

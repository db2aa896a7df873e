/** What a look at one run or invocation led to (docs/contracts/custody.md, 8.2 and 8.3). */
export type ReconcileAction =
  /** The executor has no such run: closed. */
  | 'absent'
  /** The executor could not be asked: a containment fault, the run stays open. */
  | 'unreadable'
  /** The run has ended; `settled` says whether the log has it. */
  | 'settle_attempted'
  /** It runs, and nobody meant its owner to end. */
  | 'left_live'
  /** A stop was asked for; `outcome` says what is proven of it. */
  | 'cancelled'
  | 'invocation_retained'
  | 'invocation_retired'
  | 'recovery_unreachable'
  | 'recovery_pending'
  /** The log could not take the event: nothing has happened, the next pass tries again. */
  | 'not_recorded'
  /** Something broke over this one item; the others went on. */
  | 'failed';

/** One outcome of an orphan pass; the payload of its `run.reconciled`. */
export type ReconcileOutcome = {
  readonly run_id?: string;
  readonly invocation_id?: string;
  readonly task_id: string;
  readonly action: ReconcileAction;
  readonly settled?: boolean;
  readonly ledger_recorded?: boolean;
  /** True if no registration of the run is left to retire. */
  readonly project_retired?: boolean;
  readonly project_persistent?: boolean;
  /** The executor's word for a live run's state. */
  readonly state?: string;
  readonly reason?: string;
  /** Of a stop: `confirmed`, `requested`, `failed` or `containment_fault_run_may_still_be_live`. */
  readonly outcome?: string;
  readonly patch_captured?: boolean;
  readonly staged_output?: string;
  readonly staged_output_complete?: boolean;
  readonly staged_output_consumed?: boolean;
  /** Why something could not be recorded or done. */
  readonly error?: string;
};

const REFRESHED: ReadonlySet<ReconcileAction> = new Set<ReconcileAction>([
  'absent',
  'cancelled',
  'invocation_retired',
]);

/** The tasks whose rows may have changed (docs/contracts/custody.md, 8.7), each once. */
export function tasksToRefresh(outcomes: readonly ReconcileOutcome[]): readonly string[] {
  const touched = outcomes.filter((item) => item.settled === true || REFRESHED.has(item.action));
  return [...new Set(touched.map((item) => item.task_id).filter((id) => id !== ''))];
}

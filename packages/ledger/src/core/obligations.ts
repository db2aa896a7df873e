import { RUN_STATES } from './event-schema.ts';
import type { InvocationRecord } from './invocation.ts';
import { isPending, isReviewInvocation } from './invocation.ts';
import { compareCodePoints } from './json.ts';
import type { ExecutionEvidence, RunEvidence, TaskFacts } from './run-evidence.ts';
import { emptyTaskFacts, executionEvidence } from './run-evidence.ts';
import type { RunRecord } from './run-record.ts';
import { factOf, isReviewOwned } from './run-record.ts';

/** Everything the ledger knows of one task, at one place in the log. */
export interface TaskCustody {
  readonly task_id: string;
  /** Runs whose owner is the task, in the order of their first starts. */
  readonly runs: readonly RunRecord[];
  /** Invocations of the task, in the order of their first requests. */
  readonly invocations: readonly InvocationRecord[];
  /** What the task's own rows say of runs. */
  readonly evidence: readonly RunEvidence[];
  /** The records of the runs that `evidence` names and that have another owner. */
  readonly foreign_runs: readonly RunRecord[];
  readonly facts: TaskFacts;
}

/** A custody that is being gathered. */
export type GrowingCustody = {
  -readonly [Key in keyof TaskCustody]: TaskCustody[Key] extends readonly (infer Item)[]
    ? Item[]
    : TaskCustody[Key];
};

/** The custody of a task of which nothing is known, or nothing yet. */
export function emptyCustody(taskId: string): GrowingCustody {
  return {
    task_id: taskId,
    runs: [],
    invocations: [],
    evidence: [],
    foreign_runs: [],
    facts: emptyTaskFacts(taskId),
  };
}

/** One terminal receipt of a disclosure. */
export interface TerminalReceipt {
  readonly run_id: string;
  readonly state: string;
  readonly model: string;
  readonly profile_id: string;
  readonly selected_subagent_id: string;
}

/** A run is open while it was started and nobody settled it. */
export function isOpen(run: RunRecord): boolean {
  return run.started && !run.settled;
}

/** A settled run with a snapshot (or a copied directory) owes a patch until it is disposed, even if nothing was captured. */
export function isPatchOwed(run: RunRecord): boolean {
  if (!run.started || !run.settled || run.patch_disposed !== '') return false;
  if (run.snapshot_id !== '') return true;
  return run.resource_ref['workspace_kind'] === 'directory' && run.resource_ref['strategy'] === 'copy';
}

/** A registration of a project that the run still owns. */
export function isRegistrationOwned(run: RunRecord): boolean {
  return run.started && run.project_owned && run.project_id !== '';
}

/** A settled run whose complete output nobody has read. */
export function isOutputUnread(run: RunRecord): boolean {
  return (
    run.started && run.settled && run.output_artifact !== '' && run.output_complete && !run.output_consumed
  );
}

/** Ids of the delegated runs that are still open, review panels left out. */
export function openRunIds(custody: TaskCustody): readonly string[] {
  return idsOf(custody.runs.filter((run) => isOpen(run) && run.role === 'delegate' && !isReviewOwned(run)));
}

/** Ids of the open attempts: runs that hold the task itself. */
export function openAttemptIds(custody: TaskCustody): readonly string[] {
  return idsOf(custody.runs.filter((run) => isOpen(run) && run.role === 'attempt'));
}

/** Ids of the invocations whose outcome is unknown, review panels left out. */
export function pendingInvocationIds(custody: TaskCustody): readonly string[] {
  return custody.invocations.filter(isOwedInvocation).map((item) => item.invocation_id);
}

/** Ids of the runs whose patch nobody has dealt with. Review panels are not left out: a patch is a patch. */
export function undisposedPatchRunIds(custody: TaskCustody): readonly string[] {
  return idsOf(custody.runs.filter(isPatchOwed));
}

/** Settled runs that still own the registration of a project. Disclosed, never an obligation of the task. */
export function deferredProjectRetirements(custody: TaskCustody): readonly string[] {
  return idsOf(custody.runs.filter((run) => isRegistrationOwned(run) && run.settled));
}

/** Receipts of the settled delegated runs with a known end, ordered by run id. */
export function terminalReceipts(custody: TaskCustody): readonly TerminalReceipt[] {
  return custody.runs
    .filter(
      (run) =>
        run.started &&
        run.settled &&
        run.role === 'delegate' &&
        !isReviewOwned(run) &&
        isRunState(run.terminal_state),
    )
    .map((run) => ({
      run_id: run.run_id,
      state: run.terminal_state,
      model: factOf(run, 'model'),
      profile_id: factOf(run, 'profile_id'),
      selected_subagent_id: factOf(run, 'selected_subagent_id'),
    }))
    .sort((a, b) => compareCodePoints(a.run_id, b.run_id));
}

/** The live execution evidence of the task. */
export function evidenceOf(custody: TaskCustody, readable = true): ExecutionEvidence {
  const runs = new Map([...custody.runs, ...custody.foreign_runs].map((run) => [run.run_id, run]));
  return executionEvidence({ evidence: custody.evidence, runs, facts: custody.facts, readable });
}

function isRunState(state: string): boolean {
  return (RUN_STATES as readonly string[]).includes(state);
}

function idsOf(runs: readonly RunRecord[]): readonly string[] {
  return runs.map((run) => run.run_id);
}

/** What a run owes, as a ledger counts it over all tasks. */
export interface RunDebts {
  /** Started and not settled, whoever it belongs to. */
  readonly open: boolean;
  /** Open and an obligation of its task. */
  readonly owes_run: boolean;
  readonly owes_patch: boolean;
  /** Since when the run or its patch is owed; null when neither is. */
  readonly owed_at: string | null;
}

/** The debts of one run. */
export function debtsOfRun(run: RunRecord): RunDebts {
  const owesRun = isOpen(run) && run.role === 'delegate' && !isReviewOwned(run);
  const owesPatch = isPatchOwed(run);
  const since = owesRun ? run.started_at : run.settled_at;
  return {
    open: isOpen(run),
    owes_run: owesRun,
    owes_patch: owesPatch,
    owed_at: owesRun || owesPatch ? since : null,
  };
}

/** True if the invocation is an obligation of its task. */
export function isOwedInvocation(invocation: InvocationRecord): boolean {
  return isPending(invocation) && !isReviewInvocation(invocation);
}

import type { Question, RunRecord, TaskCustody } from '@custody/ledger';
import {
  deferredProjectRetirements,
  isOpen,
  isOutputUnread,
  isPatchOwed,
  isRegistrationOwned,
  openAttemptIds,
  openRunIds,
  pendingInvocationIds,
  undisposedPatchRunIds,
} from '@custody/ledger';

/** What a task owes, by kind. */
export interface TaskObligations {
  readonly open_run_ids: readonly string[];
  readonly open_attempt_ids: readonly string[];
  readonly pending_invocation_ids: readonly string[];
  readonly undisposed_patch_run_ids: readonly string[];
  readonly unread_output_run_ids: readonly string[];
  readonly deferred_project_retirements: readonly string[];
  /** Questions that wait for a person's answer. */
  readonly open_question_ids: readonly string[];
  /** Questions whose answer no run has heard. */
  readonly undelivered_question_ids: readonly string[];
}

/** What one run owes. */
export interface RunObligations {
  readonly open: boolean;
  readonly patch_owed: boolean;
  readonly output_unread: boolean;
  readonly registration_owned: boolean;
}

/** The debts of a task; its questions are those of a task that has not ended, since nobody waits for others. */
export function obligationsOfTask(custody: TaskCustody, questions: readonly Question[]): TaskObligations {
  return {
    open_run_ids: openRunIds(custody),
    open_attempt_ids: openAttemptIds(custody),
    pending_invocation_ids: pendingInvocationIds(custody),
    undisposed_patch_run_ids: undisposedPatchRunIds(custody),
    unread_output_run_ids: custody.runs.filter(isOutputUnread).map((run) => run.run_id),
    deferred_project_retirements: deferredProjectRetirements(custody),
    open_question_ids: questions.filter((item) => item.answer === null).map((item) => item.question_id),
    undelivered_question_ids: questions
      .filter((item) => item.answer !== null && item.delivered === null)
      .map((item) => item.question_id),
  };
}

/** The debts of a run. */
export function obligationsOfRun(run: RunRecord): RunObligations {
  return {
    open: isOpen(run),
    patch_owed: isPatchOwed(run),
    output_unread: isOutputUnread(run),
    registration_owned: isRegistrationOwned(run),
  };
}

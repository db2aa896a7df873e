import type { NothingClaimed, Refusal, RefusalReason } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { valueText } from './printable.ts';
import { printRefusal, printReport } from './report.ts';

/** Each "no" for people. */
const SAID: Readonly<Record<RefusalReason, string>> = {
  no_such_task: 'there is no such task',
  task_exists: 'a task of that id is there already',
  no_such_parent: 'there is no such parent',
  no_such_run: 'there is no such run',
  foreign_run: 'the run belongs to another task',
  run_not_ended: 'the run has not ended',
  not_latest_run: 'another run started after it',
  active_run: 'another run holds the task',
  already_completed: 'the task is completed already',
  status_not_replayable: 'only a blocked task or one in triage takes the result of an ended run',
  decomposed: 'the task was split into children',
  changed_since_run: 'somebody acted on the task since the run ended',
  parents_open: 'the task waits for others',
  operator_released: 'the task was taken away from the run',
  stale_epoch: 'another writer has taken over the ledger',
  stale_fence: 'the fence is not the current one: the run does not hold the task any more',
  not_holder: 'only the holder is told the fence',
  not_current_run: 'the run does not hold the task',
  not_running: 'the task does not run',
  changed_meanwhile: 'the task changed while its worker was stopped',
  worker_survived: 'the worker would not end; it keeps the task for a while',
  idempotency_conflict: 'the key stands for something else',
  status_not_completable: 'a task in this status can not be completed',
  needs_force: "a person's answer is awaited; --force completes all the same",
  status_not_blockable: 'only a ready or running task can be blocked',
  not_blocked: 'the task is not blocked',
  not_in_triage: 'the task is not in triage',
  not_promotable: 'only a waiting or blocked task can be promoted',
  task_ended: 'the task has ended',
  task_running: 'a run holds the task',
  already_archived: 'the task is archived already',
  link_cycle: 'the tasks would wait for each other',
  not_expired: 'the lease has not run out',
  journal_conflict: 'another result of that run is there already',
  nothing_claimable: 'nothing is ready to be claimed',
  question_open: 'a question waits for its answer',
  no_such_question: 'there is no such question',
  invalid_option: 'the question does not offer that',
  already_answered: 'the question has its answer',
  already_delivered: 'the verdict has reached a run already',
  not_answered: 'nobody has answered yet',
  in_flight: 'a run holds the task',
  not_ready: 'the task is not ready',
};

/** Prints what a command on managed tasks answered: exit 0, or 1 when the answer is no. */
export async function printAnswer<Answer extends { readonly outcome: string }>(
  context: CommandContext,
  answer: Answer | Refusal | NothingClaimed,
  human: (answer: Answer) => string,
): Promise<ExitCode> {
  if (isNo(answer)) return printRefusal(context, answer, refusalText(answer));
  await printReport(context, answer, () => human(answer));
  return EXIT.done;
}

function isNo(answer: { readonly outcome: string }): answer is Refusal | NothingClaimed {
  return answer.outcome === 'refused' || answer.outcome === 'none';
}

/** A "no" as people read it: what is the case, and the facts. */
function refusalText({ outcome: _, reason, ...facts }: Refusal | NothingClaimed): string {
  const shown = Object.entries(facts)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `  ${name}: ${valueText(value)}`);
  return [`refused, ${reason}: ${SAID[reason]}`, ...shown].join('\n');
}

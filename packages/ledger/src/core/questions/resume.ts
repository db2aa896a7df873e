import type { JsonObject } from '../json.ts';
import type { ManagedTask } from '../managed/managed-task.ts';
import type { ManagedScope } from '../managed/scope.ts';
import type { NewEvent } from '../recorded-event.ts';
import type { Question } from './question.ts';
import { isUnanswered, undelivered, verdictText } from './question.ts';

/** The newest question of a task, if it still waits for its answer. */
export function pendingQuestion(scope: ManagedScope, task: ManagedTask): Question | null {
  return unanswered(scope, task.newest_question_id);
}

/**
 * The question that a parked task waits for: the one that it was parked on, or a newer one. Null if it waits for
 * none, or was not parked.
 */
export function parkedQuestion(scope: ManagedScope, task: ManagedTask): Question | null {
  if (task.parked_on === null) return null;
  return unanswered(scope, task.parked_on) ?? pendingQuestion(scope, task);
}

function unanswered(scope: ManagedScope, questionId: string | null): Question | null {
  const question = questionId === null ? null : scope.questionOf(questionId);
  return isUnanswered(question) ? question : null;
}

/** What a new run is told at its start. */
export interface Resumption {
  /** Put on the claim, and with it on the run; empty if there is nothing to tell. */
  readonly notice: JsonObject;
  /** What makes each of its verdicts a delivered one, in the same transaction. */
  readonly deliveries: readonly NewEvent[];
}

/** Everything that was answered and that no run has heard: one line each, in the order of the answers. */
export function resumption(scope: ManagedScope, task: ManagedTask, runId: string): Resumption {
  const verdicts = undelivered(scope.questionsOf(task.task_id));
  const last = verdicts.at(-1);
  if (last === undefined) return { notice: {}, deliveries: [] };
  return {
    notice: {
      resume_notice: verdicts.map((question) => verdictText(question.answer)).join('\n'),
      resume_since: last.answered_at,
    },
    deliveries: verdicts.map((question) => ({
      type: 'verdict.delivered',
      task_id: task.task_id,
      run_id: runId,
      question_id: question.question_id,
      mode: 'notice',
      text: verdictText(question.answer),
    })),
  };
}

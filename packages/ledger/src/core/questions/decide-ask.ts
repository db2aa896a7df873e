import { openParents } from '../managed/completion.ts';
import { beatOf } from '../managed/decide-claim.ts';
import type { Decision } from '../managed/decision.ts';
import { accept, refuse } from '../managed/decision.ts';
import type { HolderClaim } from '../managed/holder-guard.ts';
import { guardHolder } from '../managed/holder-guard.ts';
import type { ManagedTask } from '../managed/managed-task.ts';
import type { ManagedScope } from '../managed/scope.ts';
import type { NewEvent } from '../recorded-event.ts';
import { isUnanswered } from './question.ts';
import { pendingQuestion } from './resume.ts';

/** A question as a run raises it. */
export interface NewQuestion {
  readonly questionId: string;
  readonly text: string;
  readonly options: readonly string[];
  readonly allowText: boolean;
}

/** Raises a question; the run goes on. A report as well: whoever asks may be about to park. */
export function decideAsk(
  scope: ManagedScope,
  command: HolderClaim & { readonly question: NewQuestion },
): Decision {
  const held = guardHolder(scope, command);
  if (!held.ok) return held.decision;
  const { task, lease } = held;
  return accept([raisedEvent(task, command.runId, command.question)], { beat: beatOf(scope, lease, null) });
}

function raisedEvent(task: ManagedTask, runId: string, question: NewQuestion): NewEvent {
  return {
    type: 'question.raised',
    task_id: task.task_id,
    run_id: runId,
    question_id: question.questionId,
    kind: 'question',
    text: question.text,
    options: question.options,
    allow_text: question.allowText,
  };
}

/** Ends the run until a person has answered: a new question, or one that the task has already. */
export type Park = HolderClaim &
  ({ readonly question: NewQuestion } | { readonly question: null; readonly questionId: string });

/**
 * Parks a run. The question may have been answered while the run was on its way here: then the task is claimable
 * at once, and the next run hears the verdict, so that no answer is waited for that was given already.
 */
export function decidePark(scope: ManagedScope, command: Park): Decision {
  const held = guardHolder(scope, command);
  if (!held.ok) return held.decision;
  const { task } = held;
  if (command.question !== null) {
    const { questionId } = command.question;
    return accept([
      raisedEvent(task, command.runId, command.question),
      parkedEvent(task, { runId: command.runId, questionId, status: 'blocked' }),
    ]);
  }
  const { questionId, runId } = command;
  const question = scope.questionOf(questionId);
  const facts = { task_id: task.task_id, run_id: runId, question_id: questionId };
  if (question === null || question.task_id !== task.task_id) return refuse('no_such_question', facts);
  if (question.delivered !== null)
    return refuse('already_answered', {
      ...facts,
      answer: question.answer,
      delivered: { ...question.delivered },
    });
  const isWaiting = isUnanswered(question) || pendingQuestion(scope, task) !== null;
  const status = isWaiting ? 'blocked' : statusOnceAnswered(scope, task);
  return accept([parkedEvent(task, { runId, questionId, status })]);
}

/** Where a parked task goes once nothing is open any more. */
export function statusOnceAnswered(scope: ManagedScope, task: ManagedTask): 'ready' | 'todo' {
  return openParents(scope, task).length > 0 ? 'todo' : 'ready';
}

function parkedEvent(
  task: ManagedTask,
  park: { readonly runId: string; readonly questionId: string; readonly status: string },
): NewEvent {
  return {
    type: 'run.parked',
    task_id: task.task_id,
    run_id: park.runId,
    question_id: park.questionId,
    status: park.status,
  };
}

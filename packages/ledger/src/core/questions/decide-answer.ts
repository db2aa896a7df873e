import type { Decision } from '../managed/decision.ts';
import { accept, refuse } from '../managed/decision.ts';
import type { ManagedTask } from '../managed/managed-task.ts';
import { isEnded } from '../managed/managed-task.ts';
import type { ManagedScope } from '../managed/scope.ts';
import { statusOnceAnswered } from './decide-ask.ts';
import type { Question } from './question.ts';
import { pendingQuestion } from './resume.ts';

/** A verdict as a person gives it. */
export interface Answer {
  readonly questionId: string;
  /** What was picked, or written. */
  readonly answer: string;
  /** True if it was written: no option has to match. */
  readonly isWritten: boolean;
  /** Who answered, for people to read. */
  readonly author: string | null;
}

/** Takes the verdict of a question, once; a task that waited for nothing else can be claimed from then on. */
export function decideAnswer(scope: ManagedScope, command: Answer): Decision {
  const question = scope.questionOf(command.questionId);
  const task = question === null ? null : scope.taskOf(question.task_id);
  if (question === null || task === null)
    return refuse('no_such_question', { question_id: command.questionId });
  const facts = { question_id: question.question_id, task_id: task.task_id };
  if (question.answer !== null)
    return refuse('already_answered', {
      ...facts,
      answer: question.answer,
      answered_at: question.answered_at,
    });
  if (isEnded(task)) return refuse('task_ended', { ...facts, status: task.status });
  const isOffered = command.isWritten ? question.allow_text : question.options.includes(command.answer);
  if (!isOffered)
    return refuse('invalid_option', {
      ...facts,
      offered: command.answer,
      options: question.options,
      allow_text: question.allow_text,
    });
  const event = {
    type: 'question.answered',
    ...facts,
    answer: command.answer,
    author: command.author,
    status: wakes(scope, task, question) ? statusOnceAnswered(scope, task) : null,
  };
  return accept([event]);
}

/** True if the task is parked and waits for nothing but this answer. */
function wakes(scope: ManagedScope, task: ManagedTask, answered: Question): boolean {
  if (task.status !== 'blocked' || task.parked_on === null) return false;
  const parkedOn = scope.questionOf(task.parked_on);
  return [parkedOn, pendingQuestion(scope, task)].every(
    (question) =>
      question === null || question.answer !== null || question.question_id === answered.question_id,
  );
}

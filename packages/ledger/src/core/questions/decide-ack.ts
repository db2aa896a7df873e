import type { JsonObject } from '../json.ts';
import { beatOf } from '../managed/decide-claim.ts';
import type { Decision } from '../managed/decision.ts';
import { accept, refuse } from '../managed/decision.ts';
import type { HolderClaim } from '../managed/holder-guard.ts';
import { findRun, guardHolder } from '../managed/holder-guard.ts';
import type { ManagedTask } from '../managed/managed-task.ts';
import type { ManagedScope } from '../managed/scope.ts';
import { injectedRemark, undelivered, verdictText } from './question.ts';

/** Who speaks on the timeline when the ledger does. */
const LEDGER_AUTHOR = 'custody';

/** What is offered to the run that holds the task. Writes nothing, so it may be asked for again at any time. */
export function decideDeliveries(scope: ManagedScope, command: HolderClaim): Decision {
  const held = guardHolder(scope, command);
  if (!held.ok) return held.decision;
  return accept([], { answer: { deliveries: offered(scope, held.task) } });
}

/** The same for somebody who only watches the run, and so has no fence to show. */
export function decideOffered(scope: ManagedScope, runId: string): Decision {
  const found = findRun(scope, { taskId: null, runId });
  if (!found.ok) return found.decision;
  const { task, run } = found;
  if (run.ended_at === null && task.current_run_id === runId)
    return accept([], { answer: { deliveries: offered(scope, task) } });
  return refuse('not_current_run', {
    task_id: task.task_id,
    run_id: runId,
    current_run_id: task.current_run_id,
    status: task.status,
    run_outcome: run.outcome,
  });
}

function offered(scope: ManagedScope, task: ManagedTask): readonly JsonObject[] {
  return undelivered(scope.questionsOf(task.task_id)).map((question) => ({
    question_id: question.question_id,
    kind: 'answer',
    text: verdictText(question.answer),
  }));
}

/**
 * Records that the run which holds the task has taken a verdict. This is the delivery: until then it is offered
 * again, from then on it never is. The same run may say so again.
 */
export function decideAck(
  scope: ManagedScope,
  command: HolderClaim & { readonly questionId: string },
): Decision {
  const held = guardHolder(scope, command);
  if (!held.ok) return held.decision;
  const { task, lease } = held;
  const { runId, questionId } = command;
  const question = scope.questionOf(questionId);
  const facts = { question_id: questionId, task_id: task.task_id, run_id: runId };
  if (question === null || question.task_id !== task.task_id) return refuse('no_such_question', facts);
  const { delivered } = question;
  if (delivered !== null) {
    const isReplay = delivered.run_id === runId && delivered.mode === 'injected';
    return isReplay
      ? accept([], { answer: { replayed: true } })
      : refuse('already_delivered', { ...facts, delivered: { ...delivered } });
  }
  if (question.answer === null) return refuse('not_answered', facts);
  return accept(
    [
      {
        type: 'verdict.delivered',
        task_id: task.task_id,
        run_id: runId,
        question_id: questionId,
        mode: 'injected',
        text: verdictText(question.answer),
      },
      {
        type: 'task.commented',
        task_id: task.task_id,
        run_id: runId,
        author: LEDGER_AUTHOR,
        body: injectedRemark(questionId),
        late: false,
      },
    ],
    { beat: beatOf(scope, lease, null), answer: { replayed: false } },
  );
}

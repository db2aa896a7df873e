import type { Refusal } from '../core/managed/decision.ts';
import { currentFence } from '../core/managed/holder-guard.ts';
import type { TaskStatus } from '../core/managed/managed-task.ts';
import { decideAck, decideDeliveries } from '../core/questions/decide-ack.ts';
import { decideAnswer } from '../core/questions/decide-answer.ts';
import type { NewQuestion } from '../core/questions/decide-ask.ts';
import { decideAsk, decidePark } from '../core/questions/decide-ask.ts';
import type { Question } from '../core/questions/question.ts';
import { UsageError } from '../errors.ts';
import type { ManagedStore, QuestionFilter } from '../ports/managed-store.ts';
import { idArgument, optionalText, refuseBoth, textArgument } from './arguments.ts';
import type { HeldRun } from './held-run.ts';
import { heldRun } from './held-run.ts';

/** A question as a run raises it. */
export interface QuestionToAsk {
  readonly question: string;
  /** What may be picked. @default nothing: the answer is written */
  readonly options?: readonly string[];
  /** Whether an answer may be written in the place of a pick. @default only if there are no options */
  readonly allowText?: boolean;
}

/** What a run parks on: a new question, or one that the task has already. */
export type QuestionToParkOn = QuestionToAsk | { readonly questionId: string };

/** A question was raised; the run goes on. */
export interface Asked {
  readonly outcome: 'asked';
  readonly task_id: string;
  readonly question_id: string;
}

/** A run was parked. */
export interface Parked {
  readonly outcome: 'parked';
  readonly task_id: string;
  readonly question_id: string;
  /** `blocked`; another status if the answer was there before the run was. */
  readonly status: TaskStatus;
}

/** What runs do with questions. */
export interface AskingRuns {
  /** Raises a question and goes on; a sign of life as well. */
  ask(question: HeldRun & QuestionToAsk): Promise<Asked | Refusal>;
  /** Ends the run until a person has answered. One transaction: nobody ever sees a half of it. */
  park(on: HeldRun & QuestionToParkOn): Promise<Parked | Refusal>;
}

/** A verdict that is offered to a run. */
export interface OfferedVerdict {
  readonly question_id: string;
  readonly kind: 'answer';
  /** `Human selected: ` and the answer, on one line. */
  readonly text: string;
}

/** A verdict was taken down. */
export interface Answered {
  readonly outcome: 'answered';
  readonly question_id: string;
  readonly task_id: string;
  readonly answer: string;
  /** Whether a run is open that may take it while it works. Either way it is delivered once. */
  readonly delivery: 'offered' | 'with_next_claim';
}

/** A verdict was delivered to a run. */
export interface Acknowledged {
  readonly outcome: 'delivered';
  readonly question_id: string;
  /** True if the run had said so before. */
  readonly replayed: boolean;
}

/** Questions, their verdicts, and how those reach runs. */
export interface ManagedQuestions {
  /** In the order in which they were raised. */
  list(filter?: QuestionFilter): Promise<readonly Question[]>;
  /** Gives the verdict, once: one of the options, or a text where that is allowed. */
  answer(
    verdict: { readonly questionId: string; readonly author?: string | null } & (
      | { readonly option: string; readonly text?: undefined }
      | { readonly text: string; readonly option?: undefined }
    ),
  ): Promise<Answered | Refusal>;
  /** What is offered to the run that holds the task, oldest verdict first. Reads only. */
  deliveries(
    run: HeldRun,
  ): Promise<{ readonly outcome: 'offered'; readonly deliveries: readonly OfferedVerdict[] } | Refusal>;
  /** Says that the run has taken a verdict: this is its delivery. */
  ack(verdict: HeldRun & { readonly questionId: string }): Promise<Acknowledged | Refusal>;
}

/** What runs do with questions of a store. */
export function askingRuns(store: ManagedStore): AskingRuns {
  return {
    ask: async (asked) => {
      const command = { ...heldRun(asked), question: checkedQuestion(asked, store.newId()) };
      const decided = await store.decide(
        { taskIds: [], runId: command.runId, effect: ['question.raised'] },
        (scope) => decideAsk(scope, command),
      );
      if (decided.outcome === 'refused') return decided.refusal;
      return {
        outcome: 'asked',
        task_id: decided.after.runOwner ?? '',
        question_id: command.question.questionId,
      };
    },
    park: async (on) => {
      const isKnown = 'questionId' in on;
      if (isKnown && 'question' in on) refuseBoth('question_id', 'question');
      const questionId = isKnown ? idArgument('question_id', on.questionId) : store.newId();
      const held = heldRun(on);
      const command = isKnown
        ? { ...held, question: null, questionId }
        : { ...held, question: checkedQuestion(on, questionId) };
      const decided = await store.decide(
        { taskIds: [], runId: held.runId, questionId, effect: ['run.parked'] },
        (scope) => decidePark(scope, command),
      );
      if (decided.outcome === 'refused') return decided.refusal;
      const taskId = decided.after.runOwner ?? '';
      const status = decided.after.taskOf(taskId)?.status ?? 'blocked';
      return { outcome: 'parked', task_id: taskId, question_id: questionId, status };
    },
  };
}

/** @throws UsageError for a question that could never be answered. */
function checkedQuestion(asked: QuestionToAsk, questionId: string): NewQuestion {
  const text = textArgument('question', asked.question);
  const options = (asked.options ?? []).map((option) => textArgument('options', option));
  const allowText = asked.allowText ?? options.length === 0;
  const isDouble = new Set(options).size < options.length;
  if (isDouble || (options.length === 0 && !allowText)) {
    throw new UsageError(
      'invalid_option',
      isDouble ? 'options must differ from each other' : 'options must be at least one, or text be allowed',
      { hint: 'Nothing was written; correct the options.', facts: { field: 'options', value: options } },
    );
  }
  return { questionId, text, options, allowText };
}

/** Questions of a store. */
export function managedQuestions(store: ManagedStore): ManagedQuestions {
  return {
    list: async (filter = {}) => {
      if (filter.taskId !== undefined) idArgument('task_id', filter.taskId);
      return store.questions(filter);
    },
    answer: async (verdict) => {
      const given: { readonly option?: string | undefined; readonly text?: string | undefined } = verdict;
      if (given.option !== undefined && given.text !== undefined) refuseBoth('option', 'text');
      const isWritten = given.text !== undefined;
      const command = {
        questionId: idArgument('question_id', verdict.questionId),
        answer: isWritten ? textArgument('text', given.text) : textArgument('option', given.option),
        isWritten,
        author: optionalText('author', verdict.author),
      };
      const decided = await store.decide(
        { taskIds: [], questionId: command.questionId, effect: ['question.answered'] },
        (scope) => decideAnswer(scope, command),
      );
      if (decided.outcome === 'refused') return decided.refusal;
      const taskId = decided.after.questionOf(command.questionId)?.task_id ?? '';
      const task = decided.after.taskOf(taskId);
      // A run that is open may take it while it works; if it ends first, the next claim brings it.
      const isHeld = task !== null && currentFence(decided.after, task) !== null;
      return {
        outcome: 'answered',
        question_id: command.questionId,
        task_id: taskId,
        answer: command.answer,
        delivery: isHeld ? 'offered' : 'with_next_claim',
      };
    },
    deliveries: async (run) => {
      const command = heldRun(run);
      const scope = await store.read({ taskIds: [], runId: command.runId });
      const decision = decideDeliveries(scope, command);
      if (decision.kind === 'refused') return decision.refusal;
      const { deliveries } = decision.answer as unknown as { deliveries: readonly OfferedVerdict[] };
      return { outcome: 'offered', deliveries };
    },
    ack: async (verdict) => {
      const command = { ...heldRun(verdict), questionId: idArgument('question_id', verdict.questionId) };
      const request = { taskIds: [], runId: command.runId, questionId: command.questionId };
      const decided = await store.decide(request, (scope) => decideAck(scope, command));
      if (decided.outcome === 'refused') return decided.refusal;
      return {
        outcome: 'delivered',
        question_id: command.questionId,
        replayed: decided.answer['replayed'] === true,
      };
    },
  };
}

import type { JsonObject } from '../json.ts';
import type { IsoTime } from '../time.ts';

/** How a verdict reached a run: taken by a run that was open, or carried by the notice of one that began. */
export const DELIVERY_MODES = ['injected', 'notice'] as const;

/** One of {@link DELIVERY_MODES}. */
export type DeliveryMode = (typeof DELIVERY_MODES)[number];

/** That a verdict reached a run. A question has one at most. */
export interface Delivery {
  readonly mode: DeliveryMode;
  readonly run_id: string;
  readonly at: IsoTime;
}

/** Something that a run can't decide. Everything but the last four fields stays as it was raised. */
export interface Question {
  readonly question_id: string;
  readonly task_id: string;
  /** The run that raised it. */
  readonly run_id: string;
  readonly text: string;
  readonly kind: 'question';
  /** What may be picked; may be empty if text may be written. */
  readonly options: readonly string[];
  /** True if an answer may be written in the place of a pick. */
  readonly allow_text: boolean;
  /** `seq` of its event; orders the questions of a task. */
  readonly asked_seq: number;
  readonly asked_at: IsoTime;
  /** The verdict: written once. Null while it is open. */
  readonly answer: string | null;
  /** `seq` of the verdict, which orders verdicts; 0 while there is none. */
  readonly answered_seq: number;
  readonly answered_at: IsoTime | null;
  readonly delivered: Delivery | null;
}

/** True while nobody has answered. */
export function isUnanswered(question: Question | null): question is Question {
  return question !== null && question.answer === null;
}

/** True while somebody still owes something: a person the verdict, or the ledger its delivery. */
export function isOwed(question: Question): boolean {
  return question.delivered === null;
}

/** A question with a verdict that no run has heard. */
export type Undelivered = Question & { readonly answer: string; readonly answered_at: IsoTime };

/** The verdicts that no run has heard, in the order in which they were given. */
export function undelivered(questions: readonly Question[]): readonly Undelivered[] {
  return questions
    .filter((question): question is Undelivered => question.answer !== null && isOwed(question))
    .toSorted((a, b) => a.answered_seq - b.answered_seq);
}

/** What a run is told of a verdict. Always one line, so that a notice has one line for each. */
export function verdictText(answer: string): string {
  return `Human selected: ${answer.replace(/\s*[\r\n\u2028\u2029]+\s*/gu, ' ')}`;
}

/** What is said on the task's timeline when a run took a verdict while it worked. */
export function injectedRemark(questionId: string): string {
  return `verdict delivered into the running session (block #${questionId})`;
}

/** A question as refusals and assignments show it. */
export function questionFacts(question: Question): JsonObject {
  return {
    question_id: question.question_id,
    run_id: question.run_id,
    text: question.text,
    kind: question.kind,
    options: question.options,
    allow_text: question.allow_text,
    asked_at: question.asked_at,
  };
}

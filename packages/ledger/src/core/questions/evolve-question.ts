import type { ManagedEvent } from '../managed/managed-event.ts';
import type { Question } from './question.ts';

/** The question that an event is about; null for events of other things. */
export function questionIdOf(event: ManagedEvent): string | null {
  // A park names a question and changes only its task.
  return 'question_id' in event && event.type !== 'run.parked' ? event.question_id : null;
}

/**
 * Applies one event to the question that it names. The first verdict and the first delivery stand; an event of a
 * question that was never raised changes nothing.
 */
export function evolveQuestion(question: Question | null, event: ManagedEvent): Question | null {
  if (event.type === 'question.raised') {
    return (
      question ?? {
        question_id: event.question_id,
        task_id: event.task_id,
        run_id: event.run_id,
        text: event.text,
        kind: event.kind,
        options: event.options,
        allow_text: event.allow_text,
        asked_seq: event.seq,
        asked_at: event.recorded_at,
        answer: null,
        answered_seq: 0,
        answered_at: null,
        delivered: null,
      }
    );
  }
  if (question === null) return null;
  if (event.type === 'question.answered' && question.answer === null)
    return { ...question, answer: event.answer, answered_seq: event.seq, answered_at: event.recorded_at };
  if (event.type === 'verdict.delivered' && question.delivered === null)
    return { ...question, delivered: { mode: event.mode, run_id: event.run_id, at: event.recorded_at } };
  return question;
}

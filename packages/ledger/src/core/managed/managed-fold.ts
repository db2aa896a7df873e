import type { UnplacedEvent } from '../custody-fold.ts';
import { textOf } from '../json.ts';
import { evolveQuestion, questionIdOf } from '../questions/evolve-question.ts';
import type { Question } from '../questions/question.ts';
import { isOwed } from '../questions/question.ts';
import type { RecordedEvent } from '../recorded-event.ts';
import { evolve } from './evolve.ts';
import { evolveLease } from './evolve-lease.ts';
import type { ManagedEvent } from './managed-event.ts';
import { isManagedEvent, toManagedEvent } from './managed-event.ts';
import type { Lease, ManagedTask, Submission } from './managed-task.ts';

/** What must be in a {@link ManagedFold} before events are applied. */
export interface ManagedKeys {
  readonly taskIds: readonly string[];
  readonly submissionKeys: readonly string[];
  readonly questionIds: readonly string[];
}

/** The records that events of managed tasks change; null if none of the events is one. */
export function managedKeys(events: readonly UnplacedEvent[]): ManagedKeys | null {
  const own = events.filter(isManagedEvent);
  if (own.length === 0) return null;
  const keys = own
    .filter((event) => event.type === 'run.submitted')
    .map((event) => textOf(event, 'idempotency_key'));
  const questionIds = own.map((event) => textOf(event, 'question_id')).filter((id) => id !== '');
  return {
    taskIds: [...new Set(own.map((event) => textOf(event, 'task_id')))],
    submissionKeys: keys,
    questionIds: [...new Set(questionIds)],
  };
}

/**
 * The fold of managed tasks, beside the fold of custody and fed with the same events. A store keeps the records
 * by key: it loads what an event needs, applies it, and writes back what `changed` names.
 */
export class ManagedFold {
  readonly tasks = new Map<string, ManagedTask>();
  readonly leases = new Map<string, Lease>();
  readonly submissions = new Map<string, Submission>();
  readonly questions = new Map<string, Question>();
  readonly changed = {
    tasks: new Set<string>(),
    leases: new Set<string>(),
    submissions: new Set<string>(),
    questions: new Set<string>(),
  };
  /** Ids of the owed questions by task, so that a scope finds them without a walk over all. */
  readonly #owed = new Map<string, Set<string>>();

  /** Applies one event; events that belong to no managed task change nothing. */
  apply(recorded: RecordedEvent): void {
    if (!isManagedEvent(recorded)) return;
    const event = toManagedEvent(recorded);
    if (event === null) return;
    const before = this.tasks.get(event.task_id) ?? null;
    const after = evolve(before, event);
    if (after === null || after === before) {
      if (after === null) return;
    } else {
      this.tasks.set(event.task_id, after);
      this.changed.tasks.add(event.task_id);
    }
    const lease = this.leases.get(event.task_id) ?? null;
    const nextLease = evolveLease(lease, event);
    if (nextLease !== null && nextLease !== lease) this.putLease(nextLease);
    if (event.type === 'run.submitted') this.#submit(event);
    this.#ask(event);
  }

  /** Puts a lease, also one that only a sign of life changed. */
  putLease(lease: Lease): void {
    this.leases.set(lease.task_id, lease);
    this.changed.leases.add(lease.task_id);
  }

  /** Puts a question, also one that a store has loaded. */
  putQuestion(question: Question): void {
    this.questions.set(question.question_id, question);
    const owed = this.#owed.get(question.task_id) ?? new Set();
    if (isOwed(question)) owed.add(question.question_id);
    else owed.delete(question.question_id);
    this.#owed.set(question.task_id, owed);
  }

  /** The questions of a task that are not answered, or whose answer no run has heard, oldest first. */
  owedQuestions(taskId: string): readonly Question[] {
    return [...(this.#owed.get(taskId) ?? [])]
      .flatMap((id) => this.questions.get(id) ?? [])
      .sort((a, b) => a.asked_seq - b.asked_seq);
  }

  #ask(event: ManagedEvent): void {
    const id = questionIdOf(event);
    if (id === null) return;
    const before = this.questions.get(id) ?? null;
    const after = evolveQuestion(before, event);
    if (after === null || after === before) return;
    this.putQuestion(after);
    this.changed.questions.add(id);
  }

  /** Forgets what was changed, once it is written. */
  clearChanged(): void {
    this.changed.tasks.clear();
    this.changed.leases.clear();
    this.changed.submissions.clear();
    this.changed.questions.clear();
  }

  #submit(event: {
    task_id: string;
    run_id: string;
    seq: number;
    idempotency_key: string;
    value: Submission['value'];
  }): void {
    if (this.submissions.has(event.idempotency_key)) return;
    this.submissions.set(event.idempotency_key, {
      idempotency_key: event.idempotency_key,
      task_id: event.task_id,
      run_id: event.run_id,
      seq: event.seq,
      value: event.value,
    });
    this.changed.submissions.add(event.idempotency_key);
  }
}

import type { RecordedEvent } from '@custody/ledger';
import { isManagedType } from '@custody/ledger';
import type { Figures } from './figures.ts';

/** An attempt as the log tells of it. */
interface SeenAttempt {
  readonly run_id: string;
  fence: number;
  isOpen: boolean;
  endedSeq: number;
  isReleased: boolean;
}

/** What the log says of one managed task. */
interface SeenTask {
  readonly attempts: SeenAttempt[];
  /** Place of the last event that somebody acted by, or that gave the task a new parent. */
  actedSeq: number;
  isCompleted: boolean;
}

/** What only the holder of a task may write, and what ends a run. */
const BY_HOLDER = new Set(['run.pushed', 'run.submitted', 'run.parked', 'question.raised', 'task.failed']);
const ENDING = new Set([
  'task.completed',
  'task.failed',
  'task.cancelled',
  'task.archived',
  'task.blocked',
  'task.block_loop_detected',
  'task.dependency_wait',
  'run.parked',
  'run.ended',
  'claim.reclaimed',
]);
/** Events that nobody acts by. A new parent counts all the same: the run did not know of it. */
const IDLE = new Set([
  'task.commented',
  'task.gave_up',
  'question.raised',
  'verdict.delivered',
  'run.pushed',
  'run.submitted',
  'claim.extended',
  'claim.deferred',
  'lease.restamped',
]);

/** Reads a log event by event, as simply as possible, and holds what each event may say against those before it. */
export class LogModel {
  readonly #figures: Figures;
  readonly #tasks = new Map<string, SeenTask>();
  readonly #ids = new Set<string>();
  readonly #messages = new Set<string>();
  readonly #submitted = new Set<string>();
  readonly #answered = new Set<string>();
  readonly #delivered = new Set<string>();
  readonly #executedAs = new Map<string, string>();

  constructor(figures: Figures) {
    this.#figures = figures;
  }

  /** True if a run holds its task, and under this fence. */
  holds(runId: string, fence: number): boolean {
    return [...this.#tasks.values()].some((task) =>
      task.attempts.some((attempt) => attempt.run_id === runId && attempt.isOpen && attempt.fence === fence),
    );
  }

  /** The attempts of a task, oldest first. */
  attemptsOf(taskId: string): readonly Readonly<SeenAttempt>[] {
    return this.#tasks.get(taskId)?.attempts ?? [];
  }

  /** Answered questions whose verdict no run has heard. */
  isDelivered(questionId: string): boolean {
    return this.#delivered.has(questionId);
  }

  read(event: RecordedEvent): void {
    this.#once('P10', this.#ids, event.id, `event id ${event.id} stands twice in the log`);
    this.#readKeys(event);
    this.#readQuestions(event);
    const task = this.#taskOf(event);
    if (task === null) return;
    if (event.type === 'run.started') this.#readStart(task, event);
    else this.#readOther(task, event);
    // What the task's delegated runs do is no act on the task.
    const isAct = event.type === 'run.started' || isManagedType(event.type);
    if (isAct && !IDLE.has(event.type)) task.actedSeq = event.seq;
  }

  #once(promise: 'P10' | 'P12', known: Set<string>, key: string, otherwise: string): void {
    this.#figures.hold(promise, !known.has(key), () => otherwise);
    known.add(key);
  }

  #readKeys(event: RecordedEvent): void {
    const message = textIn(event, 'message');
    // The start of a run takes over what its request said.
    if (message !== '')
      this.#once('P10', this.#messages, `${message} ${event.type}`, `message ${message} had two effects`);
    if (event.type === 'run.submitted') {
      const key = textIn(event, 'idempotency_key');
      this.#once('P10', this.#submitted, key, `step ${key} was taken twice`);
    }
    const invocation = textIn(event, 'invocation_id');
    if (event.type !== 'run.started' || invocation === '') return;
    const runId = textIn(event, 'run_id');
    const known = this.#executedAs.get(invocation) ?? runId;
    this.#executedAs.set(invocation, known);
    this.#figures.hold(
      'P10',
      known === runId,
      () => `${invocation} was carried out as ${known} and as ${runId}`,
    );
  }

  #readQuestions(event: RecordedEvent): void {
    const question = textIn(event, 'question_id');
    if (event.type === 'question.answered')
      this.#once('P12', this.#answered, question, `question ${question} was answered twice`);
    if (event.type !== 'verdict.delivered') return;
    this.#once('P12', this.#delivered, question, `the verdict of ${question} was delivered twice`);
    this.#figures.hold(
      'P12',
      this.#answered.has(question),
      () => `${question} was delivered before it was answered`,
    );
  }

  #taskOf(event: RecordedEvent): SeenTask | null {
    const id = textIn(event, 'task_id');
    if (event.type === 'task.created' && !this.#tasks.has(id))
      this.#tasks.set(id, { attempts: [], actedSeq: 0, isCompleted: false });
    // Runs that the orchestrator started for a managed task are no attempts at it.
    if (event.type === 'run.started' && event['claim'] === undefined) return null;
    return this.#tasks.get(id) ?? null;
  }

  #readStart(task: SeenTask, event: RecordedEvent): void {
    const open = task.attempts.find((attempt) => attempt.isOpen);
    const runId = textIn(event, 'run_id');
    this.#figures.hold(
      'P11',
      open === undefined,
      () => `${runId} began while ${String(open?.run_id)} held ${textIn(event, 'task_id')}`,
    );
    task.attempts.push({ run_id: runId, fence: event.seq, isOpen: true, endedSeq: 0, isReleased: false });
  }

  #readOther(task: SeenTask, event: RecordedEvent): void {
    const runId = textIn(event, 'run_id');
    const attempt = task.attempts.find((item) => item.run_id === runId);
    if (this.#isByHolder(event)) {
      this.#figures.hold(
        'P9',
        attempt?.isOpen === true,
        () => `${event.type} of ${runId}, which does not hold ${textIn(event, 'task_id')}`,
      );
    }
    if (event.type === 'task.completed') this.#readCompletion(task, attempt, event);
    if (attempt === undefined) return;
    if (event.type === 'lease.restamped') attempt.fence = event.seq;
    if (!ENDING.has(event.type)) return;
    if (attempt.isOpen) attempt.endedSeq = event.seq;
    attempt.isOpen = false;
    attempt.isReleased ||=
      event['manual'] === true || event.type === 'task.archived' || event.type === 'task.cancelled';
  }

  #isByHolder(event: RecordedEvent): boolean {
    if (event.type === 'verdict.delivered') return event['mode'] === 'injected';
    if (event.type === 'task.completed') return event['replayed'] !== true && event['operator'] === undefined;
    return BY_HOLDER.has(event.type);
  }

  #readCompletion(task: SeenTask, attempt: SeenAttempt | undefined, event: RecordedEvent): void {
    const isReplay = event['replayed'] === true;
    const isLatest = attempt !== undefined && attempt === task.attempts.at(-1);
    const isUnchanged =
      attempt !== undefined && !attempt.isOpen && !attempt.isReleased && task.actedSeq <= attempt.endedSeq;
    if (isReplay) {
      this.#figures.hold(
        'P13',
        isLatest && isUnchanged && !task.isCompleted,
        () =>
          `${textIn(event, 'task_id')} was completed by a replay of ${textIn(event, 'run_id')}, which is not its latest unchanged run`,
      );
    }
    task.isCompleted = true;
  }
}

/** The text of a field; empty if there is none. */
export function textIn(event: Readonly<Record<string, unknown>>, field: string): string {
  const value = event[field];
  return typeof value === 'string' ? value : '';
}

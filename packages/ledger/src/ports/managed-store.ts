import type { JsonObject } from '../core/json.ts';
import type { Decision, Refusal } from '../core/managed/decision.ts';
import type { FailoverNodes } from '../core/managed/epoch-record.ts';
import type { ManagedScope, ScopeRequest } from '../core/managed/scope.ts';
import type { Question } from '../core/questions/question.ts';
import type { RecordedEvent } from '../core/recorded-event.ts';
import type { NewId } from './clock.ts';
import type { CommitSignal } from './commit-signal.ts';

/** What became of a decision. */
export type Decided =
  | {
      readonly outcome: 'decided';
      /** The place of each event that was written, in their order. */
      readonly seqs: readonly number[];
      /** What the store knows now, of the same records that the decision saw. */
      readonly after: ManagedScope;
      readonly answer: JsonObject;
      /** The event by which the same request was carried out before; nothing was written by this one. */
      readonly repeats?: RecordedEvent;
    }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/** Which questions are listed. */
export interface QuestionFilter {
  readonly taskId?: string;
  /** Only those that nobody has answered, of tasks that have not ended: nobody waits for the others. */
  readonly open?: boolean;
}

/** What a raised epoch did. */
export interface RaisedEpoch {
  readonly epoch: number;
  /** Tasks whose open leases were carried over under new fences. */
  readonly restamped: readonly string[];
}

/** Managed tasks, their leases and what was submitted under them. */
export interface ManagedStore {
  readonly newId: NewId;
  /** Wakes those who wait for a commit. */
  readonly commits: CommitSignal;
  /**
   * Runs a pure decision inside one write transaction: loads what it needs, asks it, and writes its events with
   * everything that follows from them. A refusal, also by a stale epoch of this handle, writes nothing.
   *
   * @throws InvalidEventError if the decision holds something that no event may hold; nothing was written.
   */
  decide(request: ScopeRequest, decision: (scope: ManagedScope) => Decision): Promise<Decided>;
  /** Looks at one moment of the store without the write lock. */
  read(request: ScopeRequest): Promise<ManagedScope>;
  /** Questions in the order in which they were raised; the open ones are those of tasks that have not ended. */
  questions(filter: QuestionFilter): Promise<readonly Question[]>;
  /** Ids of the tasks that read `running`, by code point. */
  runningTaskIds(): Promise<readonly string[]>;
  /**
   * Makes this handle the only one that may write: the next epoch begins, and every open lease gets a new fence,
   * in one transaction. Handles of older epochs are refused from then on. The nodes of a failover are kept with the
   * epoch in the same transaction.
   *
   * @throws StaleEpochError if another handle raised it first; nothing was written.
   */
  raiseEpoch(reason: string, failover?: FailoverNodes): Promise<RaisedEpoch>;
}

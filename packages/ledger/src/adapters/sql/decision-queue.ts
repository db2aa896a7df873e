import { refuse } from '../../core/managed/decision.ts';
import type { ScopeRequest } from '../../core/managed/scope.ts';
import { BusyError, StaleEpochError } from '../../errors.ts';
import type { Decided } from '../../ports/managed-store.ts';
import type { DecisionOutcome, PendingDecision } from './decide-together.ts';
import type { WritableContext, WriteTurn } from './write-transaction.ts';
import { inWriteTransaction } from './write-transaction.ts';

interface Waiting extends PendingDecision {
  readonly resolve: (decided: Decided) => void;
  readonly reject: (error: unknown) => void;
}

/** Decisions of one commit: enough to share the cost of a sync, few enough that nobody waits long. */
const MAX_PER_COMMIT = 100;

/**
 * Carries out decisions that wait at the same time in one transaction, one after the other: each sees what those
 * before it wrote. While a transaction runs, newcomers gather; nobody is answered before the commit.
 */
export class DecisionQueue {
  readonly #context: WritableContext;
  readonly #decideIn: (
    turn: WriteTurn,
    pending: readonly PendingDecision[],
  ) => Promise<readonly DecisionOutcome[]>;
  readonly #waiting: Waiting[] = [];
  /** Null while nothing is carried out. */
  #running: Promise<void> | null = null;

  constructor(
    context: WritableContext,
    decideIn: (turn: WriteTurn, pending: readonly PendingDecision[]) => Promise<readonly DecisionOutcome[]>,
  ) {
    this.#context = context;
    this.#decideIn = decideIn;
  }

  decide(request: ScopeRequest, decision: PendingDecision['decision']): Promise<Decided> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, decision, resolve, reject });
      this.#running ??= this.#commitAll();
    });
  }

  async #commitAll(): Promise<void> {
    // One turn of the queue, so that decisions made in the same tick share the first commit too.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, MAX_PER_COMMIT));
    this.#running = null;
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#carryOut(batch);
      for (const [index, item] of batch.entries()) settle(item, outcomes[index]);
    } catch (error) {
      await this.#settleFailed(batch, error);
    }
  }

  /**
   * Each decision is tried alone, so that one can't take the others with it. Not after a lock or a connection failed: the
   * commit may have happened unseen, and who can't be reached by all will not be reached one by one.
   */
  async #settleFailed(batch: readonly Waiting[], error: unknown): Promise<void> {
    if (error instanceof StaleEpochError) for (const item of batch) item.resolve(refusedAsStale(error));
    else if (error instanceof BusyError || batch.length === 1) for (const item of batch) item.reject(error);
    else for (const item of batch) await this.#commit([item]);
  }

  #carryOut(batch: readonly Waiting[]): Promise<readonly DecisionOutcome[]> {
    return inWriteTransaction(this.#context, (turn) => this.#decideIn(turn, batch));
  }
}

function settle(item: Waiting, outcome: DecisionOutcome | undefined): void {
  if (outcome === undefined) item.reject(new Error('the store left a decision unanswered'));
  else if ('error' in outcome) item.reject(outcome.error);
  else item.resolve(outcome.decided);
}

function refusedAsStale({ offered, current }: StaleEpochError): Decided {
  return { outcome: 'refused', refusal: refuse('stale_epoch', { offered, current }).refusal };
}

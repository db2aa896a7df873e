import type { AppendRequest } from '../core/append-plan.ts';
import type { AppendResult } from '../core/append-result.ts';
import { InvalidEventError } from '../errors.ts';
import type { EventStore } from '../ports/event-store.ts';

interface Waiting {
  readonly request: AppendRequest;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Events of one commit: enough to share the cost of a sync, few enough that nobody waits long. */
const MAX_EVENTS_PER_COMMIT = 5000;

/**
 * Writes appends that wait at the same time in one commit. While a commit runs, newcomers gather;
 * an append alone is written at once.
 */
export class GroupCommit {
  readonly #store: EventStore;
  readonly #waiting: Waiting[] = [];
  #committing: Promise<void> | null = null;

  constructor(store: EventStore) {
    this.#store = store;
  }

  /** @throws InvalidEventError if this request was refused; the others of its commit are not concerned. */
  append(request: AppendRequest): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      this.#committing ??= this.#commitAll();
    });
  }

  async #commitAll(): Promise<void> {
    // One turn of the queue, so that appends made in the same tick share the first commit too.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#commit(this.#takeBatch());
    this.#committing = null;
  }

  #takeBatch(): readonly Waiting[] {
    let events = 0;
    let count = 0;
    for (const item of this.#waiting) {
      events += item.request.events.length;
      if (count > 0 && events > MAX_EVENTS_PER_COMMIT) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#store.append(batch.map((item) => item.request));
      for (const [index, item] of batch.entries()) {
        const outcome = outcomes[index];
        if (outcome === undefined) item.reject(new Error('the store left a request unanswered'));
        else if (outcome instanceof InvalidEventError) item.reject(outcome);
        else item.resolve(outcome);
      }
    } catch (error) {
      for (const item of batch) item.reject(error);
    }
  }
}

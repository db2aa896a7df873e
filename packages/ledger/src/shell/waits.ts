import { decideClaim } from '../core/managed/decide-claim.ts';
import type { Refusal } from '../core/managed/decision.ts';
import { decideOffered } from '../core/questions/decide-ack.ts';
import type { ManagedStore } from '../ports/managed-store.ts';
import { idArgument, textArgument } from './arguments.ts';
import type { Claim, Claimed } from './claim-task.ts';
import type { OfferedVerdict } from './managed-questions.ts';
import type { ManagedRuns } from './managed-runs.ts';

/** Time makes work as well: a lease runs out, a settle window ends. So a wait looks again without any commit. */
const LOOK_ANYWAY_MS = 1_000;

/** Waits that end within a second of the commit that they wait for. They look; nothing spins. */
export interface Waits {
  /**
   * Claims as soon as there is something to claim. Several may wait: one gets the task, the others wait on.
   *
   * @throws the signal's reason once it is aborted; nothing was claimed then.
   */
  waitForWork(claim: Claim & { readonly signal?: AbortSignal }): Promise<Claimed>;
  /**
   * Waits until there is something to claim, and claims nothing: another one may be quicker.
   *
   * @throws the signal's reason once it is aborted.
   */
  waitUntilClaimable(
    wait: Pick<Claim, 'holder' | 'taskId'> & { readonly signal?: AbortSignal },
  ): Promise<void>;
  /**
   * Waits until a verdict is offered to a run. It is delivered once the run acknowledges it. Refused as soon as
   * the run does not hold its task any more.
   *
   * @throws the signal's reason once it is aborted.
   */
  waitForVerdict(wait: {
    readonly runId: string;
    readonly signal?: AbortSignal;
  }): Promise<{ readonly outcome: 'offered'; readonly deliveries: readonly OfferedVerdict[] } | Refusal>;
}

/** Waits on a store. */
export function waitsOn(store: ManagedStore, runs: Pick<ManagedRuns, 'claim'>): Waits {
  /** Looks, and sleeps until there may be something else to see. A commit during the look is not slept through. */
  async function until<T>(signal: AbortSignal | undefined, look: () => Promise<T | null>): Promise<T> {
    for (;;) {
      signal?.throwIfAborted();
      const mark = await store.commits.mark();
      const found = await look();
      if (found !== null) return found;
      await store.commits.after(mark, { signal, atMostMs: LOOK_ANYWAY_MS });
    }
  }

  function lookFor(claim: Pick<Claim, 'holder' | 'taskId'>): () => Promise<boolean> {
    const holder = textArgument('holder', claim.holder);
    const taskId = claim.taskId === undefined ? null : idArgument('task_id', claim.taskId);
    const request = taskId === null ? { taskIds: [], claimableBy: holder } : { taskIds: [taskId] };
    const asked = { taskId, holder, runId: '', ttlMs: null, process: null };
    return async () => decideClaim(await store.read(request), asked).kind === 'accepted';
  }

  return {
    waitForWork: async ({ signal, ...claim }) => {
      const isClaimable = lookFor(claim);
      return until(signal, async () => {
        // Looked at without the write lock first: those who wait in vain must not hold up those who work.
        if (!(await isClaimable())) return null;
        const answer = await runs.claim(claim);
        return answer.outcome === 'claimed' ? answer : null;
      });
    },
    waitUntilClaimable: async ({ signal, ...wait }) => {
      const isClaimable = lookFor(wait);
      await until(signal, async () => ((await isClaimable()) ? true : null));
    },
    waitForVerdict: async ({ runId: given, signal }) => {
      const runId = idArgument('run_id', given);
      return until(signal, async () => {
        const decision = decideOffered(await store.read({ taskIds: [], runId }), runId);
        if (decision.kind === 'refused') return decision.refusal;
        const { deliveries } = decision.answer as unknown as { deliveries: readonly OfferedVerdict[] };
        return deliveries.length === 0 ? null : { outcome: 'offered', deliveries };
      });
    },
  };
}

import type { HttpChannel } from '../adapters/http/http-channel.ts';
import { idArgument, textArgument } from '../shell/arguments.ts';
import type { Claim } from '../shell/claim-task.ts';
import type { ManagedRuns } from '../shell/managed-runs.ts';
import type { Waits } from '../shell/waits.ts';
import { runPath } from './remote-commands.ts';

/** How long one request waits; it is made again until there is something. */
const WAIT = '25s';

/** Waits, by requests that the server answers late. A claim is a request of its own: a wait that is given up claims nothing. */
export function remoteWaits(channel: HttpChannel, runs: Pick<ManagedRuns, 'claim'>): Waits {
  async function untilClaimable(
    { holder, taskId }: Pick<Claim, 'holder' | 'taskId'>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const query = {
      holder: textArgument('holder', holder),
      task_id: taskId === undefined ? undefined : idArgument('task_id', taskId),
      wait: WAIT,
    };
    for (;;) {
      signal?.throwIfAborted();
      const { body } = await channel.ask({ path: '/work', query, signal });
      if ((body as { readonly claimable: boolean }).claimable) return;
    }
  }

  return {
    waitUntilClaimable: ({ signal, ...claim }) => untilClaimable(claim, signal),
    waitForWork: async ({ signal, ...claim }) => {
      for (;;) {
        await untilClaimable(claim, signal);
        signal?.throwIfAborted();
        const answer = await runs.claim(claim);
        if (answer.outcome === 'claimed') return answer;
      }
    },
    waitForVerdict: async ({ runId, signal }) => {
      const path = runPath(runId, 'deliveries');
      for (;;) {
        signal?.throwIfAborted();
        const { body } = await channel.ask({ path, query: { wait: WAIT }, signal });
        const answer = body as Awaited<ReturnType<Waits['waitForVerdict']>>;
        if (answer.outcome === 'refused' || answer.deliveries.length > 0) return answer;
      }
    },
  };
}

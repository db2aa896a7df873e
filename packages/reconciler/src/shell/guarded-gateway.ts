import { isId } from '@custody/ledger';
import type { CancelAnswer, RunGateway, RunLookup, SubmitAnswer } from '../ports/run-gateway.ts';
import { messageOf } from './heal-rows.ts';

/**
 * The gateway as the shell may rely on it: what an adapter throws is `unknown`, and so is a run id that the log
 * could not keep.
 */
export function guardedGateway(gateway: RunGateway): RunGateway {
  return {
    lookup: (run) => unknownIfThrown<RunLookup>(() => gateway.lookup(run)),
    cancel: (run, reason) => unknownIfThrown<CancelAnswer>(() => gateway.cancel(run, reason)),
    resubmit: (submission) =>
      unknownIfThrown<SubmitAnswer>(async () => usableRun(await gateway.resubmit(submission))),
    close: async () => gateway.close?.(),
  };
}

/** A run whose id can't be kept stays a pending invocation, which can be asked for again. */
export function usableRun(answer: SubmitAnswer): SubmitAnswer {
  if (answer.outcome !== 'run' || isId(answer.run_id)) return answer;
  return {
    outcome: 'unknown',
    reason: `the executor answered with a run id that is none: ${JSON.stringify(answer.run_id).slice(0, 200)}`,
  };
}

async function unknownIfThrown<Answer>(
  ask: () => Promise<Answer>,
): Promise<Answer | { outcome: 'unknown'; reason: string }> {
  try {
    return await ask();
  } catch (error) {
    return { outcome: 'unknown', reason: messageOf(error) };
  }
}

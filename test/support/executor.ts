import type { RunRecord } from '@custody/ledger';
import type { CancelAnswer, RunGateway, RunLookup, Submission, SubmitAnswer } from '@custody/reconciler';

/** An executor of runs that lives in the test: the external system, not a double of anything of ours. */
export interface Executor extends RunGateway {
  /** Runs by id, as they would be looked up. A run that is not here is absent. */
  readonly runs: Map<string, RunLookup>;
  /** How a stop is answered, by run id. @default accepted, and the run goes on */
  readonly cancelAnswers: Map<string, CancelAnswer>;
  /** The stops that were asked for: run id and reason. */
  readonly cancels: (readonly [string, string])[];
  /** What was sent, in order. */
  readonly posts: Submission[];
  /** The run that each key was given. */
  readonly runOfKey: Map<string, string>;
  /** How the next starts are answered, one each; when empty, a key gets its run. */
  readonly startAnswers: (SubmitAnswer | (() => never))[];
  /** The lookups that were made. */
  readonly lookups: string[];
  isClosed: boolean;
  /** Called before a stop is answered. */
  onCancel: (runId: string) => void;
  /** Awaited before a lookup is answered. */
  beforeLookup: (runId: string) => Promise<void>;
}

/** A run that goes on. */
export const LIVE: RunLookup = { outcome: 'live', state: 'running' };

/** An executor that could not be asked. */
export const AWAY: RunLookup = { outcome: 'unknown', reason: 'ECONNREFUSED: connection refused' };

/** A run that has ended, by default as a success that cost 1.25 USD. */
export function ended(more: Partial<Extract<RunLookup, { outcome: 'terminal' }>['detail']> = {}): RunLookup {
  return {
    outcome: 'terminal',
    detail: {
      state: 'succeeded',
      cost_usd: 1.25,
      cost_final: true,
      spend_disclosed: true,
      spend_estimated: false,
      model: 'claude-x',
      ...more,
    },
  };
}

/** An executor with these runs. */
export function executor(runs: Readonly<Record<string, RunLookup>> = {}): Executor {
  const self: Executor = {
    runs: new Map(Object.entries(runs)),
    cancelAnswers: new Map(),
    cancels: [],
    posts: [],
    runOfKey: new Map(),
    startAnswers: [],
    lookups: [],
    isClosed: false,
    onCancel: () => undefined,
    beforeLookup: () => Promise.resolve(),
    lookup: async ({ run_id: runId }: RunRecord) => {
      self.lookups.push(runId);
      await self.beforeLookup(runId);
      return self.runs.get(runId) ?? { outcome: 'absent' };
    },
    cancel: async ({ run_id: runId }: RunRecord, reason: string) => {
      self.cancels.push([runId, reason]);
      self.onCancel(runId);
      return self.cancelAnswers.get(runId) ?? { outcome: 'accepted', status: 'cancelling' };
    },
    resubmit: async (submission: Submission): Promise<SubmitAnswer> => {
      self.posts.push(submission);
      const answer = self.startAnswers.shift();
      if (typeof answer === 'function') return answer();
      if (answer !== undefined) return answer;
      const known = self.runOfKey.get(submission.invocation_id);
      const runId = known ?? `run-of-${submission.invocation_id}`;
      self.runOfKey.set(submission.invocation_id, runId);
      if (known === undefined && !self.runs.has(runId)) self.runs.set(runId, LIVE);
      return { outcome: 'run', run_id: runId };
    },
    close: async () => {
      self.isClosed = true;
    },
  };
  return self;
}

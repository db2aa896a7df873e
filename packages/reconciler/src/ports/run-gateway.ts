import type { JsonObject, RunRecord } from '@custody/ledger';
import type { Submission } from '../core/submission.ts';
import type { TerminalDetail } from '../core/terminal-detail.ts';

/** What an executor knows of one run. */
export type RunLookup =
  /** It runs, or waits; `state` is the executor's own word. */
  | { readonly outcome: 'live'; readonly state: string }
  | { readonly outcome: 'terminal'; readonly detail: TerminalDetail }
  /** The executor answered that it has no such run. Never said of an executor that could not be asked. */
  | { readonly outcome: 'absent' }
  /** Whatever else: no answer, an answer that can't be read, no permission. It changes nothing. */
  | { readonly outcome: 'unknown'; readonly reason: string };

/** What became of the request to stop a run. Whether it stopped is for {@link RunGateway.lookup} to say. */
export type CancelAnswer =
  /** `status` is the executor's own word, kept as `control_status`. */
  | { readonly outcome: 'accepted'; readonly status?: string }
  | { readonly outcome: 'rejected'; readonly status?: string; readonly reason?: string }
  | { readonly outcome: 'absent' }
  | { readonly outcome: 'unknown'; readonly reason: string };

/** What became of a start that was sent. */
export type SubmitAnswer =
  /** `facts` are put on the start of the run: `model`, `process`, `shape`, ... */
  | { readonly outcome: 'run'; readonly run_id: string; readonly facts?: JsonObject }
  /** Taken, without a run id as yet. */
  | { readonly outcome: 'pending' }
  /** The executor refused for good: there is no run, and will be none. */
  | { readonly outcome: 'refused'; readonly code: string; readonly status?: number; readonly reason?: string }
  /** There may be a run, or not. */
  | { readonly outcome: 'unknown'; readonly reason: string };

/**
 * The way to whatever executes runs. No method throws for an executor that is away or answers nonsense:
 * that is `unknown`.
 */
export interface RunGateway {
  lookup(run: RunRecord): Promise<RunLookup>;
  /** Asks for a stop. `reason` is for people. */
  cancel(run: RunRecord, reason: string): Promise<CancelAnswer>;
  /** Sends a stored start again, under its own key. */
  resubmit(submission: Submission): Promise<SubmitAnswer>;
  /** Sends a start for the first time. @default the same as {@link RunGateway.resubmit} */
  submit?(submission: Submission): Promise<SubmitAnswer>;
  close?(): Promise<void>;
}

/** Builds a gateway when there is work for one. Null, or an error: there is none now, and nothing is done. */
export type RunGatewayFactory = () => RunGateway | null | Promise<RunGateway | null>;

/** The same gateway for a sweep, which must not close what belongs to somebody else. */
export function keptOpen(gateway: RunGateway): RunGateway {
  return {
    lookup: (run) => gateway.lookup(run),
    cancel: (run, reason) => gateway.cancel(run, reason),
    resubmit: (submission) => gateway.resubmit(submission),
  };
}

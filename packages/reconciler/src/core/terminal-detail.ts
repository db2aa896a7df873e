/** The states in which a run has ended; every other state that an executor names is a live one. */
export const ENDED_STATES = ['succeeded', 'failed', 'cancelled', 'interrupted'] as const;

/** How a run ended. */
export type EndedState = (typeof ENDED_STATES)[number];

/** The end of a run as its executor tells it: the payload of `run.settled`. What was not disclosed is absent. */
export interface TerminalDetail {
  readonly state: EndedState;
  /** US dollars; null when the executor did not disclose its spend. Never 0 for "not known". */
  readonly cost_usd: number | null;
  readonly cost_final?: boolean;
  readonly spend_disclosed?: boolean;
  readonly spend_estimated?: boolean;
  /** The model that really ran. */
  readonly model?: string;
  readonly credential_profile_id?: string;
  readonly access_profile?: string;
  /** Why the run ended as it did, when it did not succeed. */
  readonly outcome_reason?: string;
}

/** True for the name of a state in which a run has ended. */
export function isEndedState(state: string): state is EndedState {
  return (ENDED_STATES as readonly string[]).includes(state);
}

import type { Ledger } from '@custody/ledger';
import type { FailoverConsent, FailoverInput, FailoverStep } from './failover-input.ts';

/** A point after which what was done so far is durable. */
type DurablePoint = 'marked' | 'raised' | 'fenced' | 'promoted' | 'confirmed' | 'switched' | 'verified';

/** What a failover works with. */
export interface FailoverTools {
  readonly input: FailoverInput;
  readonly consent: FailoverConsent;
  /** With which the last step writes its record; null where nodes want none. */
  readonly token: string | null;
  /** Opens the store: to look, which changes nothing, or to write. */
  readonly open: (use: 'prove' | 'work') => Promise<Ledger>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Hears what was done, or was done already. */
  readonly tell: (step: FailoverStep, text: string) => Promise<void>;
  /** Awaited at each point, so that a test can stop the process exactly there. */
  readonly onDurable?: (point: DurablePoint) => Promise<void>;
}

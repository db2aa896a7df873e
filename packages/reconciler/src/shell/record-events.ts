import type { Ledger, NewEvent } from '@custody/ledger';
import { InvalidEventError } from '@custody/ledger';

/** Whether events landed. Whoever gets `lost` must act as if the thing had not happened. */
export type Recorded =
  | { readonly outcome: 'recorded' }
  /** An event with one of the ids stands already and says something else: somebody was faster. Nothing was written. */
  | { readonly outcome: 'forestalled' }
  /** `store` is true if the log takes nothing at all now, false if it refused these events. */
  | { readonly outcome: 'lost'; readonly error: string; readonly store: boolean };

/** Appends events, all or none, and never throws. */
export async function recordEvents(ledger: Ledger, events: readonly NewEvent[]): Promise<Recorded> {
  try {
    await ledger.append(events, { writer: 'ledger' });
    return { outcome: 'recorded' };
  } catch (error) {
    if (!(error instanceof Error)) return { outcome: 'lost', error: String(error), store: true };
    if (!isRefusal(error)) return { outcome: 'lost', error: error.message, store: true };
    return error.code === 'event_id_conflict'
      ? { outcome: 'forestalled' }
      : { outcome: 'lost', error: error.message, store: false };
  }
}

/** By code, too: a second copy of the package has a class of its own. */
function isRefusal(error: Error): error is InvalidEventError {
  return (
    error instanceof InvalidEventError ||
    ('code' in error && typeof error.code === 'string' && /^(invalid_event|event_)/.test(error.code))
  );
}

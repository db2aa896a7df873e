import type { Ledger, NewEvent } from '@custody/ledger';
import { BusyError } from '@custody/ledger';

/** The ledger as it is while its log takes none of the events that `isRefused` names: as if another process held the lock. */
export function failingLedger(ledger: Ledger, isRefused: (event: NewEvent) => boolean): Ledger {
  return {
    ...ledger,
    append: async (events, options) => {
      if (events.some(isRefused))
        throw new BusyError('the log is locked by another process', { hint: 'Try again.' });
      return ledger.append(events, options);
    },
  };
}

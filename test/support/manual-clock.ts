import type { Clock } from '@custody/ledger';

/** A clock that stands until it is moved. */
export interface ManualClock extends Clock {
  advance(milliseconds: number): void;
}

/** A clock that starts at a time and is moved by hand. */
export function manualClock(start = '2026-03-01T00:00:00.000Z'): ManualClock {
  let now = Date.parse(start);
  return {
    now: () => now,
    advance: (milliseconds) => {
      now += milliseconds;
    },
  };
}

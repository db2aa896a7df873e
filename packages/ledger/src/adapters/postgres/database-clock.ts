import type { Clock } from '../../ports/clock.ts';

/** The database's time, told between two looks at it by this host's steady counter, never by its clock. */
export interface DatabaseClock extends Clock {
  /** What the database said just now. */
  learn(now: number): void;
}

/** A clock that goes as the database's does; `first` is what that said just now. */
export function databaseClock(first: number): DatabaseClock {
  let offset = first - performance.now();
  return {
    now: () => Math.floor(performance.now() + offset),
    learn: (now) => {
      offset = now - performance.now();
    },
  };
}

import type { Printer } from '../command-context.ts';

/** Work shorter than this needs no progress, in milliseconds. */
const QUIET_MS = 1000;
/** Between two lines of progress, in milliseconds: faster than that nobody reads. */
const INTERVAL_MS = 200;

/** A line on a terminal that is written over as work goes on. */
export interface Progress {
  /** Shows the text, unless it is too early or nobody looks at a terminal. */
  readonly show: (text: string) => void;
  /** Removes the line. */
  readonly end: () => void;
}

/** Progress on stderr; silent where that is no terminal. */
export function startProgress(err: Printer, now: () => number): Progress {
  let nextAt = now() + QUIET_MS;
  let isShown = false;
  return {
    show: (text) => {
      if (!err.isTty || now() < nextAt) return;
      nextAt = now() + INTERVAL_MS;
      isShown = true;
      // Not awaited: progress must never hold up the work it speaks of.
      void err.write(`\r\u001b[K${text}`);
    },
    end: () => {
      if (isShown) void err.write('\r\u001b[K');
    },
  };
}

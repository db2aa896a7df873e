import { setTimeout as delay } from 'node:timers/promises';
import type { Wait } from '../ports/timer.ts';

/** The host's timer. */
export const hostWait: Wait = async (milliseconds, signal) => {
  try {
    await delay(milliseconds, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};

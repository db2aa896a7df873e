import { UsageError } from '@custody/ledger';
import { Cron } from 'croner';
import { toDate } from 'date-fns';
import { parseDuration } from './duration.ts';

/** When passes are due. */
export interface Schedule {
  /** Milliseconds from `now` (epoch, ms) to the next pass after the one that began at `began`. */
  delayAfter(began: number, now: number): number;
}

/**
 * A schedule from a span or a cron expression (UTC). A pass that takes longer than the span lets the ticks it
 * missed pass by: there is never more than one at a time.
 *
 * @throws UsageError `invalid_option` unless exactly one of the two is given and valid.
 */
export function toSchedule(options: { readonly every?: string | number; readonly cron?: string }): Schedule {
  if ((options.every === undefined) === (options.cron === undefined)) {
    throw new UsageError('invalid_option', 'give either every or cron', {
      hint: 'Such as every 30s, or cron "*/5 * * * *".',
    });
  }
  return options.every === undefined
    ? cronSchedule(options.cron ?? '')
    : everySchedule(parseDuration(options.every));
}

function everySchedule(span: number): Schedule {
  return {
    delayAfter: (began, now) => {
      const elapsed = Math.max(0, now - began);
      return (Math.floor(elapsed / span) + 1) * span - elapsed;
    },
  };
}

function cronSchedule(expression: string): Schedule {
  const cron = parseCron(expression);
  return {
    delayAfter: (_began, now) => {
      const next = cron.nextRun(toDate(now));
      if (next === null)
        throw new UsageError('invalid_option', `${expression} is never due again`, {
          hint: 'Give an expression that recurs.',
        });
      return Math.max(0, next.getTime() - now);
    },
  };
}

function parseCron(expression: string): Cron {
  try {
    return new Cron(expression, { paused: true, timezone: 'UTC' });
  } catch (cause) {
    throw new UsageError('invalid_option', `${JSON.stringify(expression)} is no cron expression`, {
      hint: 'Five or six fields, such as "*/5 * * * *".',
      facts: { value: expression },
      cause,
    });
  }
}

import { expect, onTestFinished, test } from 'vitest';
import { toSchedule } from '../../../packages/reconciler/src/core/schedule.ts';

test.each(['America/New_York', 'Asia/Kolkata', 'UTC'])(
  'B43: with the clock of %s a nightly sweep is due once every 24 hours, also where clocks change',
  (zone) => {
    const before = process.env['TZ'];
    onTestFinished(() => {
      if (before === undefined) delete process.env['TZ'];
      else process.env['TZ'] = before;
    });
    process.env['TZ'] = zone;
    const due = (cron: string, from: string, days: number) => {
      const schedule = toSchedule({ cron });
      const times: string[] = [];
      for (let now = Date.parse(from); times.length < days; ) {
        now += schedule.delayAfter(now, now);
        times.push(new Date(now).toISOString());
      }
      return times;
    };

    expect(due('30 2 * * *', '2026-03-07T12:00:00Z', 3)).toEqual([
      '2026-03-08T02:30:00.000Z',
      '2026-03-09T02:30:00.000Z',
      '2026-03-10T02:30:00.000Z',
    ]);
    expect(due('30 1 * * *', '2026-10-31T12:00:00Z', 2)).toEqual([
      '2026-11-01T01:30:00.000Z',
      '2026-11-02T01:30:00.000Z',
    ]);
  },
);

import type { JsonObject } from '@custody/ledger';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { OwedItem } from '../../../packages/cli/src/audit/owed-item.ts';
import type { Paint } from '../../../packages/cli/src/command-context.ts';
import { auditText } from '../../../packages/cli/src/output/audit-text.ts';
import { alignColumns, commandLines } from '../../../packages/cli/src/output/columns.ts';
import { fieldDiff } from '../../../packages/cli/src/output/field-diff.ts';
import { shortenedInside } from '../../../packages/cli/src/output/printable.ts';
import type { Bar } from '../../../packages/cli/src/output/run-bars.ts';
import { barLines } from '../../../packages/cli/src/output/run-bars.ts';

/** Colours that leave every text as it is. */
const paint = new Proxy({}, { get: () => String }) as unknown as Paint;
const WIDTH = 80;
const START = Date.parse('2026-03-01T00:00:00.000Z');
const HOUR = 3_600_000;

/** Texts that foreign logs may hold: long, empty, and some that would steer a terminal. */
const foreign = fc.oneof(
  fc.string({ maxLength: 200, unit: 'binary' }),
  fc.constantFrom('', '\u001b[2J', 'x'.repeat(128), 'a\nb', '\u202edrow'),
);

// biome-ignore lint/suspicious/noControlCharactersInRegex: what must not reach a terminal.
const STEERING = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

test('columns stand under each other, and those that may give way do', () => {
  const lines = alignColumns(
    [
      { head: 'FOR', texts: ['1d 3h', '4s'] },
      { head: 'OWES', texts: [`run ${'r'.repeat(90)}`, 'run x'], least: 14, ids: true },
      { head: 'WHY', texts: ['not ended', 'because'], least: 34 },
    ],
    WIDTH,
  );

  expect(Math.max(...lines.map((line) => line.length))).toBe(WIDTH);
  expect(
    new Set([lines[0]?.indexOf('WHY'), lines[1]?.indexOf('not'), lines[2]?.indexOf('because')]).size,
  ).toBe(1);
});

test('an id that is cut keeps both of its ends', () => {
  expect(shortenedInside('01a22eef-e7d6-727d-97d6-c1afa0a1a8c1', 13)).toBe('01a22e…a1a8c1');
  expect(shortenedInside('short', 13)).toBe('short');
  expect(shortenedInside('abc', 1)).toBe('…');
});

test('a command is broken behind its pipe or not at all: what is copied runs', () => {
  const command = `echo '{"run_id":"${'r'.repeat(60)}"}' | custody append`;
  const style = { width: WIDTH, paint };

  expect(commandLines('custody sweep', '  ', style)).toEqual(['  $ custody sweep']);
  expect(commandLines(command, '  ', style)).toEqual([
    `  $ echo '{"run_id":"${'r'.repeat(60)}"}' |`,
    '      custody append',
  ]);
});

test('bars show what ran, what goes on, what is owed since, and what nobody knows', () => {
  const bar = (label: string, rest: Partial<Bar>): Bar => ({
    label,
    start: START,
    end: null,
    owes: false,
    isDoubtful: false,
    note: '',
    ...rest,
  });
  const lines = barLines(
    [
      bar('a', { end: START + HOUR, note: 'succeeded' }),
      bar('b', { start: START + HOUR, end: START + 2 * HOUR, owes: true, note: 'patch owed' }),
      bar('c', { start: START + 3 * HOUR, note: 'so far' }),
      bar('d', { isDoubtful: true, note: 'unknown' }),
    ],
    { now: START + 4 * HOUR, width: 56, paint },
  );

  expect(lines).toEqual([
    `  a  ${'='.repeat(9)}${' '.repeat(27)}  1h succeeded`,
    `  b  ${' '.repeat(9)}${'='.repeat(9)}${'.'.repeat(18)}  1h patch owed`,
    `  c  ${' '.repeat(27)}${'='.repeat(8)}>  1h so far`,
    `  d  ${'?'.repeat(36)}  4h unknown`,
    `     2026-03-01 00:00:00Z${' '.repeat(13)}now`,
  ]);
});

test('no bar is ever wider than the terminal, whatever the times are', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          label: foreign,
          start: fc.integer({ min: 0, max: 4 * HOUR }).map((ms) => START + ms),
          end: fc.option(fc.integer({ min: 0, max: 4 * HOUR }).map((ms) => START + ms)),
          owes: fc.boolean(),
          isDoubtful: fc.boolean(),
          note: foreign,
        }),
        { maxLength: 30 },
      ),
      (bars) => {
        const lines = barLines(bars, { now: START + 2 * HOUR, width: WIDTH, paint });
        expect(lines.filter((line) => line.length > WIDTH || STEERING.test(line))).toEqual([]);
      },
    ),
  );
});

test('our own words stand whole behind a span of years, also beside a long name', () => {
  const lines = barLines(
    [
      {
        label: 'i'.repeat(40),
        start: START,
        end: null,
        owes: false,
        isDoubtful: true,
        note: 'start, outcome unknown',
      },
    ],
    { now: START + 3000 * 24 * HOUR + 10 * HOUR, width: WIDTH, paint },
  );

  expect(lines[0]).toMatch(/ {2}3000d 10h start, outcome unknown$/);
  expect(lines[0]?.length).toBeLessThanOrEqual(WIDTH);
});

test('a diff tells items that go and come, and keys of objects that changed', () => {
  const style = { paint, width: WIDTH, indent: '  ' };
  const before: JsonObject = {
    delegated_runs_unreconciled: ['r-1', 'r-2'],
    execution_evidence: { settled: 0, started: 2 },
    actual_substrate: 'a',
  };
  const after: JsonObject = {
    delegated_runs_unreconciled: ['r-2', 'patch:r-1'],
    execution_evidence: { settled: 1, started: 2 },
    actual_substrate: 'b',
  };

  expect(fieldDiff(before, after, style)).toEqual([
    '  delegated_runs_unreconciled',
    '    - r-1',
    '    + patch:r-1',
    '  execution_evidence',
    '    - settled 0',
    '    + settled 1',
    '  actual_substrate',
    '    - a',
    '    + b',
  ]);
  // A list in another order is a change as well.
  expect(fieldDiff({ list: ['a', 'b'] }, { list: ['b', 'a'] }, style)).toEqual([
    '  list',
    '    - ["a","b"]',
    '    + ["b","a"]',
  ]);
  expect(fieldDiff(null, { list: ['a'] }, style)).toEqual(['  list', '    + a']);
});

const item: fc.Arbitrary<OwedItem> = fc.record({
  task_id: foreign,
  kind: fc.constantFrom('run', 'start', 'patch', 'question', 'lease', 'unknown'),
  id: foreign,
  run_id: fc.constant(null),
  since: fc.constant(null),
  age_ms: fc.option(fc.nat()),
  holder: fc.option(foreign),
  reason: foreign,
  command: fc.constant('custody sweep'),
});

test('the screen of an audit fits 80 columns and steers no terminal, whatever a log holds', () => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 8 }), fc.array(foreign, { maxLength: 3 }), (owed, ids) => {
      const text = auditText(
        {
          seq: 3,
          at: '2026-03-01T00:00:00.000Z',
          owed,
          held: [],
          tasks: [],
          totals: {
            open_runs: 0,
            pending_invocations: 0,
            undisposed_patches: 0,
            oldest_unreconciled_at: null,
          },
          parked: ids.map((task_id) => ({
            task_id,
            failures: 5,
            error: task_id,
            since: '2026-02-01T00:00:00.000Z',
          })),
          deferred: ids.map((task_id) => ({ task_id, since: '2026-02-01T00:00:00.000Z' })),
          cursor_lag: 7,
          last_pass: {},
          not_known: [],
        },
        { limit: 5, listsAll: true },
        {
          paint,
          program: 'custody',
          out: {
            write: async () => undefined,
            isClosed: () => false,
            isTty: false,
            columns: WIDTH,
            rows: null,
          },
        },
      );
      const lines = text.split('\n');
      expect(lines.filter((line) => line.length > WIDTH || STEERING.test(line))).toEqual([]);
      if (owed.length > 5) expect(text).toContain(`and ${owed.length - 5} more owed`);
    }),
  );
});

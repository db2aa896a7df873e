import {
  BusyError,
  InvalidEventError,
  InvalidRowError,
  RowFrozenError,
  StoreError,
  UsageError,
} from '@custody/ledger';
import { expect, test } from 'vitest';
import { usageError } from '../../../packages/cli/src/errors.ts';
import { exitCodeOf } from '../../../packages/cli/src/exit-code.ts';
import { errorJson, errorText, toErrorReport } from '../../../packages/cli/src/output/error-report.ts';
import { printable, shortened, valueText } from '../../../packages/cli/src/output/printable.ts';
import { startProgress } from '../../../packages/cli/src/output/progress.ts';
import { renderTable } from '../../../packages/cli/src/output/table.ts';
import { sinceText, spanText } from '../../../packages/cli/src/output/time-text.ts';

test('what would steer a terminal is shown as its code', () => {
  expect(printable('a\u001b[31mred\u0007\r\n')).toBe('a\\u{1b}[31mred\\u{7}\\u{d}\\u{a}');
  expect(printable('left\u202eright')).toBe('left\\u{202e}right');
  expect(printable('\ud800')).toBe('\\u{d800}');
  expect(printable('ä 漢 😀')).toBe('ä 漢 😀');
});

test('values are shown as text, or as JSON', () => {
  expect(valueText('x')).toBe('x');
  expect(valueText(['a', 1])).toBe('["a",1]');
  expect(valueText(undefined)).toBe('null');
  expect(shortened('abcdef', 4)).toBe('abc…');
});

test.for([
  [0, '0s'],
  [999, '0s'],
  [61_000, '1m 1s'],
  [3_600_000, '1h'],
  [90_061_000, '1d 1h'],
  [86_400_000 + 61_000, '1d'],
] as const)('%d ms are %s', ([ms, text]) => {
  expect(spanText(ms)).toBe(text);
});

test('a missing moment has no age', () => {
  expect(sinceText(null, 0)).toBe('-');
  expect(sinceText('1970-01-01T00:00:00.000Z', 5000)).toBe('5s ago');
});

test('a table fits its terminal, no text of a cell is lost, and colours are put on after the cut', () => {
  const id = 'run-'.repeat(30);
  const rows = [[{ text: 't-1' }, { text: id, colour: (text: string) => `\u001b[31m${text}\u001b[39m` }]];
  const table = renderTable(['TASK', 'OWES'], rows, { columns: 40, bold: (text) => text });

  const plain = table.replaceAll('\u001b[31m', '').replaceAll('\u001b[39m', '');
  const lines = plain.trimEnd().split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBe(40);
  expect(plain.replaceAll(/\s/g, '')).toBe(`TASKOWESt-1${id}`);
  expect(table.split('\u001b[31m')).toHaveLength(lines.length);
});

test('a list in a cell is cut between its items', () => {
  const table = renderTable(['OWES'], [[{ text: 'run-1, patch:run-2, run-3' }]], {
    columns: 14,
    bold: (text) => text,
  });

  expect(table).toBe('OWES\nrun-1,\npatch:run-2,\nrun-3\n');
});

test.for([
  [usageError('m', 'h'), 2],
  [new InvalidEventError('invalid_event', 'm', { field: null, index: 0 }), 2],
  [new InvalidEventError('event_too_large', 'm', { field: null, index: 0 }), 2],
  [new InvalidEventError('event_id_conflict', 'm', { field: null, index: 0 }), 2],
  [new InvalidRowError('m', { hint: 'h' }), 2],
  [new UsageError('invalid_url', 'm', { hint: 'h' }), 2],
  [new UsageError('not_supported', 'm', { hint: 'h' }), 2],
  [new RowFrozenError('t', ['status']), 1],
  [new StoreError('store_missing', 'm', { hint: 'h' }), 3],
  [new StoreError('store_corrupt', 'm', { hint: 'h' }), 3],
  [new StoreError('log_unreadable', 'm', { hint: 'h' }), 3],
  [new BusyError('m', { hint: 'h' }), 4],
  [new Error('a bug'), 3],
] as const)('the exit code of %s is %d', ([error, exitCode]) => {
  expect(toErrorReport(error).exitCode).toBe(exitCode);
});

test('an error nobody planned for is told from one that was', () => {
  expect(toErrorReport(new TypeError('x is undefined'))).toMatchObject({
    code: 'internal',
    message: 'unexpected: x is undefined',
  });
  expect(toErrorReport('text')).toMatchObject({ code: 'internal', message: 'unexpected: text' });
  expect(exitCodeOf('internal')).toBe(3);
});

test('facts stand beside code, message and hint and never hide them', () => {
  const report = toErrorReport(usageError('m', 'h', { line: 3, code: 'fake', message: 'fake' }));

  expect(JSON.parse(errorJson(report))).toEqual({
    error: { line: 3, code: 'usage', message: 'm', hint: 'h' },
  });
});

test('people get the message, the facts and the hint, one a line', () => {
  const report = toErrorReport(
    usageError('bad \u001b[2J', 'do this', { line: 3, field: 'type', path: '/x' }),
  );

  expect(errorText(report)).toBe('custody: bad \\u{1b}[2J\n  line: 3\nhint: do this\n');
});

/** A printer that keeps what it is given, and a clock that is set by hand. */
function progressOn(isTty: boolean) {
  const written: string[] = [];
  const clock = { now: 0 };
  const printer = {
    write: async (text: string) => {
      written.push(text);
    },
    isClosed: () => false,
    isTty,
    columns: 80,
    rows: null,
  };
  return { written, clock, progress: startProgress(printer, () => clock.now) };
}

test('work that is done within a second shows no progress, longer work does on a terminal, and takes it away at the end', () => {
  const { written, clock, progress } = progressOn(true);

  progress.show('10%');
  clock.now = 1100;
  progress.show('50%');
  clock.now = 1150;
  progress.show('55%');
  clock.now = 2000;
  progress.show('90%');
  progress.end();

  expect(written).toEqual(['\r\u001b[K50%', '\r\u001b[K90%', '\r\u001b[K']);
});

test('nobody who is no terminal is shown progress', () => {
  const { written, clock, progress } = progressOn(false);

  clock.now = 60_000;
  progress.show('50%');
  progress.end();

  expect(written).toEqual([]);
});

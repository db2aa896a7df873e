import { expect, test } from 'vitest';
import {
  child,
  fence,
  priority,
  processId,
  repeated,
  setting,
  text,
} from '../../../packages/cli/src/input/managed-options.ts';

const usage = (option: string, value: string) =>
  expect.objectContaining({ code: 'usage', facts: { option, value } }) as Error;

test('a fence is a whole number from 1', () => {
  expect(fence('1')).toBe(1);
  expect(fence('900719925474099')).toBe(900_719_925_474_099);
});

test.for(['', ' ', '0', '00', '-1', '+1', '1.0', '1e3', '0x1', ' 1', '1 ', 'latest', '9'.repeat(16)])(
  '%j is no fence',
  (value) => {
    expect(() => fence(value)).toThrow(usage('--fence', value));
  },
);

test.for(['', '0', '-5', '1.5', 'self', '99999999999'])('%j is no process id', (value) => {
  expect(() => processId(value)).toThrow(usage('--pid', value));
});

test('a priority may be negative', () => {
  expect([priority('-3'), priority('0'), priority('7')]).toEqual([-3, 0, 7]);
  expect(() => priority('high')).toThrow(usage('--priority', 'high'));
});

test('a text is kept as it is, and is not blank', () => {
  expect(text('--holder')(' alice ')).toBe(' alice ');
  for (const value of ['', ' ', '\n\t'])
    expect(() => text('--holder')(value)).toThrow(usage('--holder', value));
});

test('a repeated option keeps all its values, in order', () => {
  expect(repeated('b', repeated('a', undefined))).toEqual(['a', 'b']);
});

test.for([
  ['Write the tests', { id: null, title: 'Write the tests' }],
  ['task-9=Write the tests', { id: 'task-9', title: 'Write the tests' }],
  ['task-9=a = b', { id: 'task-9', title: 'a = b' }],
  ['Set a = b', { id: null, title: 'Set a = b' }],
] as const)('the child %j', ([value, part]) => {
  expect(child(value, undefined)).toEqual([part]);
});

test.for(['', ' ', 'task-9=', 'task-9= ', '=Title', '='])('%j is no child', (value) => {
  expect(() => child(value, undefined)).toThrow(usage('--child', value));
});

test('settings are times by name, the last one of a name counts', () => {
  const first = setting('CUSTODY_LEASE_TTL=15m', undefined);
  const second = setting('CUSTODY_CRASH_GRACE=0s', first);
  const third = setting('CUSTODY_PARK_SETTLE=1.5s', second);

  expect(setting('CUSTODY_LEASE_TTL=1ms', third)).toEqual({
    lease_ttl_ms: 1,
    crash_grace_ms: 0,
    park_settle_ms: 1500,
  });
});

test.for(['', 'CUSTODY_LEASE_TTL', '=5s', 'custody_lease_ttl=5s', 'toString=5s', 'CUSTODY_LIMIT=5s'])(
  'there is no setting %j',
  (value) => {
    expect(() => setting(value, undefined)).toThrow(usage('--set', value));
  },
);

test.for([
  'CUSTODY_LEASE_TTL=0s',
  'CUSTODY_LEASE_TTL=',
  'CUSTODY_CRASH_GRACE=120',
  'CUSTODY_PARK_SETTLE=-1s',
])('%j sets no time', (value) => {
  expect(() => setting(value, undefined)).toThrow(/takes a duration/);
});

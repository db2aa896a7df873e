import { expect, test } from 'vitest';
import { readLiveTaskIds } from '../../../packages/cli/src/input/live-tasks.ts';
import {
  duration,
  expectedHead,
  planHash,
  wholeNumber,
} from '../../../packages/cli/src/input/parse-options.ts';
import { toGatewayFactory } from '../../../packages/cli/src/open-gateway.ts';

const HASH = 'ab'.repeat(32);

test('a whole number is digits and nothing else', () => {
  expect(wholeNumber('--limit')('0')).toBe(0);
  expect(wholeNumber('--limit')('42')).toBe(42);
});

test.for(['', 'ten', '1.5', '-1', '1e3', ' 1', '0x10', '9999999999999999999'])(
  'a numeric option refuses %j and names itself',
  (value) => {
    expect(() => wholeNumber('--limit')(value)).toThrow(
      expect.objectContaining({ code: 'usage', facts: { option: '--limit', value } }),
    );
  },
);

test.for([
  ['500ms', 500],
  ['30s', 30_000],
  ['1.5m', 90_000],
  ['1h', 3_600_000],
  ['1d', 86_400_000],
] as const)('%s is a duration', ([text, ms]) => {
  expect(duration('--every')(text)).toBe(ms);
});

test.for(['', '30', '0s', '30 s', '-1s', 's', '1w', '25d', '999999999999s', '30S'])(
  '%j is no duration',
  (value) => {
    expect(() => duration('--every')(value)).toThrow(expect.objectContaining({ code: 'usage' }));
  },
);

test('a plan is named by its hash', () => {
  expect(planHash(HASH)).toBe(HASH);
  expect(() => planHash('latest')).toThrow(expect.objectContaining({ code: 'usage' }));
});

test('an expected head is a seq and a hash', () => {
  expect(expectedHead(`12:${HASH.toUpperCase()}`)).toEqual({ seq: 12, hash: HASH });
  for (const value of ['12', HASH, `12:${HASH}0`, `x:${HASH}`, '']) {
    expect(() => expectedHead(value)).toThrow(expect.objectContaining({ code: 'usage' }));
  }
});

test('live tasks are ids parted by commas; an empty list says that nobody is alive', async () => {
  expect(await readLiveTaskIds('t-1,t-2, t-3,')).toEqual(['t-1', 't-2', 't-3']);
  expect(await readLiveTaskIds('')).toEqual([]);
});

test('a file of live tasks that can not be read is an error, never an empty list', async () => {
  await expect(readLiveTaskIds('@/no/such/file')).rejects.toMatchObject({ code: 'input_unreadable' });
  await expect(readLiveTaskIds('@')).rejects.toMatchObject({ code: 'usage' });
});

test('a gateway is none, process, or a URL with the run id in it', async () => {
  expect(await toGatewayFactory(undefined)).toBeUndefined();
  expect(await toGatewayFactory('none')).toBeUndefined();
  for (const option of [
    'process',
    'http:http://localhost:1/runs/{run_id}',
    'https://host/{route}/{run_id}',
  ]) {
    expect(await toGatewayFactory(option)).toBeTypeOf('function');
  }
});

test.for([
  '',
  'http',
  'http:',
  'http:localhost/{run_id}',
  'http:http://host/runs',
  'ftp://host/{run_id}',
  'Process',
])('%j is no gateway', async (option) => {
  await expect(toGatewayFactory(option)).rejects.toMatchObject({ code: 'usage' });
});

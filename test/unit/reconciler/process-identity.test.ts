import { isProcessEnded, parseProcessStat } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { toProcessIdentity } from '../../../packages/reconciler/src/core/process-identity.ts';

const FIELDS = 'S 1 4242 4242 0 -1 4194304 119 0 0 0 0 0 0 0 20 0 1 0 207201 3133440 390';

describe('a line of /proc/<pid>/stat', () => {
  test('tells state, group and start', () => {
    expect(parseProcessStat(`17986 (cat) ${FIELDS}`)).toEqual({
      state: 'S',
      group: 4242,
      started_at_ticks: 207_201,
    });
  });

  test('is not misled by a command with blanks and brackets', () => {
    expect(parseProcessStat(`17986 (a) Z 1 (b) ${FIELDS}`)).toEqual({
      state: 'S',
      group: 4242,
      started_at_ticks: 207_201,
    });
  });

  test.each(['', 'nonsense', '17986 (cat)', '17986 (cat) S 1', `17986 cat ${FIELDS}`])(
    '%j is none',
    (line) => {
      expect(parseProcessStat(line)).toBeNull();
    },
  );

  test.each([
    ['R', false],
    ['S', false],
    ['D', false],
    ['T', false],
    ['Z', true],
    ['X', true],
  ])('a process in state %s has ended: %s', (state, isOver) => {
    expect(isProcessEnded({ state, group: 1, started_at_ticks: 1 })).toBe(isOver);
  });
});

describe('the identity of a process', () => {
  const identity = { pid: 7, started_at_ticks: 8, boot_id: 'b' };

  test('needs pid, start and boot', () => {
    expect(toProcessIdentity(identity)).toEqual(identity);
    expect(toProcessIdentity({ ...identity, machine_id: 'm', pid_namespace: 'pid:[1]', note: 'x' })).toEqual({
      ...identity,
      machine_id: 'm',
      pid_namespace: 'pid:[1]',
    });
  });

  test.each<[string, unknown]>([
    ['only a pid', { pid: 7 }],
    ['a pid in text', { ...identity, pid: '7' }],
    ['pid 0, which is a whole group', { ...identity, pid: 0 }],
    ['a negative pid', { ...identity, pid: -7 }],
    ['half a tick', { ...identity, started_at_ticks: 1.5 }],
    ['an empty boot', { ...identity, boot_id: '' }],
    ['a list', [identity]],
    ['nothing', undefined],
  ])('%s names nobody', (_title, value) => {
    expect(toProcessIdentity(value)).toBeNull();
  });
});

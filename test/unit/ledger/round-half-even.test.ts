import { describe, expect, test } from 'vitest';
import { roundHalfEven } from '../../../packages/ledger/src/core/run-evidence.ts';

describe('costs are rounded to six decimals as every other reader of the log rounds them', () => {
  test.each([
    // Exact binary ties go to the even digit.
    [0.0078125, 0.007812],
    [0.0234375, 0.023438],
    [-0.0078125, -0.007812],
    [0.5, 0.5],
    // What only looks like a tie in decimals is no tie in binary.
    [1.0000005, 1.000001],
    [2.0000015, 2.000002],
    [0.1 + 0.2, 0.3],
    [0, 0],
  ])('%d becomes %d', (value, rounded) => {
    expect(roundHalfEven(value)).toBe(rounded);
  });
});

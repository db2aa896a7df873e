import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isSameRaw,
  parseRawObject,
  printCompact,
  printRawObject,
} from '../../../packages/ledger/src/core/raw-json.ts';

describe('equality of raw values', () => {
  it.each([
    ['1', '1.0'],
    ['100', '1e2'],
    ['-0.0', '0'],
    ['"\\u00e4"', '"ä"'],
    ['[1,2]', ' [ 1 , 2 ]'],
    ['{"a":1,"b":[]}', '{"b":[],"a":1}'],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['12345678901234567890', '12345678901234567890'],
    ['[1e400]', '[ 1e400 ]'],
  ])('%s is %s', (left, right) => {
    expect(isSameRaw(left, right)).toBe(true);
    expect(isSameRaw(right, left)).toBe(true);
  });

  it.each([
    ['1', '2'],
    ['1', '"1"'],
    ['null', 'false'],
    ['[1,2]', '[2,1]'],
    ['[1]', '[1,1]'],
    ['{"a":1}', '{"a":1,"b":null}'],
    ['{"a":1}', '{"b":1}'],
    ['9007199254740993', '9007199254740992'],
    ['0.1', '0.1000000000000000055'],
    ['1e400', '1e401'],
    ['1e-400', '0'],
  ])('%s is not %s', (left, right) => {
    expect(isSameRaw(left, right)).toBe(false);
    expect(isSameRaw(right, left)).toBe(false);
  });

  it('is free of layout for every value, and sees every change of one', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (value, other) => {
        const text = JSON.stringify(value);
        expect(isSameRaw(text, JSON.stringify(value, null, 3))).toBe(true);
        expect(isSameRaw(text, JSON.stringify(other))).toBe(
          JSON.stringify(normal(value)) === JSON.stringify(normal(other)),
        );
      }),
    );
  });
});

describe('raw objects', () => {
  it('print what they read, whatever the keys and values', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (object) => {
        const raw = parseRawObject(JSON.stringify(object));
        expect(JSON.parse(printCompact(raw))).toEqual(JSON.parse(JSON.stringify(object)));
        expect([...parseRawObject(printRawObject(raw))]).toEqual([...raw]);
      }),
    );
  });
});

/** The value with its keys in order and without negative zeros. */
function normal(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normal);
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return { entries: entries.map(([key, item]) => [key, normal(item)]) };
  }
  return value === 0 ? 0 : value;
}

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findLossyInteger } from '../../../packages/cli/src/input/lossy-integer.ts';
import { splitArray } from '../../../packages/cli/src/input/split-array.ts';
import { jsonPieces } from '../../../packages/cli/src/json-pieces.ts';
import { onOneLine } from '../../../packages/cli/src/output/compact-json.ts';

test('the pieces of a text put together are the text, and its strings are told from the rest', () => {
  const text = '{"a\\"b": [1, "\\\\"], "": {}}';
  const pieces = [...jsonPieces(text)];

  expect(pieces.map((piece) => piece.text).join('')).toBe(text);
  expect(pieces.filter((piece) => piece.isString).map((piece) => piece.text)).toEqual([
    '"a\\"b"',
    '"\\\\"',
    '""',
  ]);
  for (const piece of pieces) expect(text.startsWith(piece.text, piece.start)).toBe(true);
});

test('any JSON on one line means the same and has no white space between values', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(8), (value, indent) => {
      const line = onOneLine(JSON.stringify(value, null, indent));

      expect(line).toBe(JSON.stringify(value));
    }),
  );
});

test('numbers keep their spelling on one line', () => {
  expect(onOneLine('{ "n": 12345678901234567890,\n "x": 1.0 }')).toBe('{"n":12345678901234567890,"x":1.0}');
});

test('a string of many megabytes full of escapes is no trouble', () => {
  const text = JSON.stringify({ value: '"'.repeat(5_000_000) });

  expect(onOneLine(text)).toBe(text);
});

test('any array is split into the texts of its items', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.nat(4), (items, indent) => {
      const texts = splitArray(JSON.stringify(items, null, indent));

      expect(texts.map((text) => JSON.parse(text) as unknown)).toEqual(JSON.parse(JSON.stringify(items)));
    }),
  );
});

test('items of an array keep their spelling', () => {
  expect(splitArray(' [ {"n": 1.00}, [1,2] , "a,b]" ] ')).toEqual(['{"n": 1.00}', '[1,2]', '"a,b]"']);
  expect(splitArray('[]')).toEqual([]);
});

test.for([
  ['{"a":{"b":[1,12345678901234567890]}}', 'a.b.1', '12345678901234567890'],
  ['{"id":9007199254740993}', 'id', '9007199254740993'],
  ['{"n":-10000000000000000001}', 'n', '-10000000000000000001'],
] as const)('an integer that no double holds is found: %s', ([text, field, literal]) => {
  expect(findLossyInteger(text, JSON.parse(text))).toEqual({ field, literal });
});

test.for([
  '{"n":9007199254740992}',
  '{"n":1000000000000000000000}',
  '{"n":0.1234567890123456789}',
  '{"n":12345678901234567890.5}',
  '{"n":1e400}',
  '{"text":"12345678901234567890"}',
  '{"12345678901234567890":1}',
])('what survives, is a measure, or is text is left alone: %s', (text) => {
  expect(findLossyInteger(text, JSON.parse(text))).toBeNull();
});

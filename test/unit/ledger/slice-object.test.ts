import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sliceObject } from '../../../packages/ledger/src/core/slice-object.ts';

/** Keys and texts of quotes, backslashes and brackets, which end nothing inside of a string. */
const tricky = fc.string({
  unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', ' ', 'a', 'ä', '\n', '\u2028'),
});

const value = fc.oneof(
  fc.jsonValue(),
  tricky,
  fc.array(tricky, { maxLength: 3 }),
  fc.dictionary(tricky, fc.oneof(tricky, fc.jsonValue({ maxDepth: 1 })), { maxKeys: 3 }),
);

const member = fc.tuple(
  fc.oneof(tricky, fc.constantFrom('a', '__proto__', '')),
  value,
  fc.constantFrom('', ' ', '\n\t', '\r\n  '),
);

it('finds the values of an object as they are written, whatever stands inside, between, and twice', () => {
  fc.assert(
    fc.property(fc.array(member, { maxLength: 6 }), (members) => {
      const written = members.map(([key, item, blank]) => ({
        key,
        blank,
        text: JSON.stringify(item, null, blank.length),
      }));
      const text = ` {${written
        .map(({ key, blank, text: item }) => `${blank}${JSON.stringify(key)}${blank}:${blank}${item}${blank}`)
        .join(',')}} `;
      JSON.parse(text);

      expect(sliceObject(text)).toEqual(new Map(written.map(({ key, text: item }) => [key, item])));
    }),
    { numRuns: 2000 },
  );
});

it.each([
  ['{}', []],
  [' {\n} ', []],
  ['{"a":-1.5e+7}', [['a', '-1.5e+7']]],
  [
    '{"a":1e400 ,"b":null}',
    [
      ['a', '1e400'],
      ['b', 'null'],
    ],
  ],
  [String.raw`{"\u0061":"\\"}`, [['a', String.raw`"\\"`]]],
] as const)('slices %s', (text, entries) => {
  expect([...sliceObject(text)]).toEqual(entries);
});

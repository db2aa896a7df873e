import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { oracleOf } from '../../oracle/oracle.ts';

const fixtures = fileURLToPath(new URL('../../fixtures', import.meta.url));

describe('the oracle', () => {
  it('gives the expected answers for the fixture', () => {
    const expected: unknown = JSON.parse(
      readFileSync(`${fixtures}/delegate-root-small.expected.json`, 'utf8'),
    );

    const answer = oracleOf(`${fixtures}/delegate-root-small`);

    expect(answer).toEqual(expected);
  });
});

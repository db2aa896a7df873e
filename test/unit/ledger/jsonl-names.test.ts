import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fromCursorFile, toCursorFile } from '../../../packages/ledger/src/adapters/jsonl/cursor-file.ts';
import { appendLockPath } from '../../../packages/ledger/src/adapters/jsonl/log-lock.ts';
import { SEGMENT_NAME } from '../../../packages/ledger/src/adapters/jsonl/root-paths.ts';
import { segmentName } from '../../../packages/ledger/src/adapters/jsonl/rotate-log.ts';
import { compareCodePoints } from '../../../packages/ledger/src/core/json.ts';

const NOON = Date.parse('2026-03-01T12:00:00.900Z');

describe('the name of a new segment', () => {
  it('tells the second of its rotation, and counts within one', () => {
    expect(segmentName(NOON, '')).toBe('events_20260301T120000.jsonl');
    expect(segmentName(NOON, 'events_20260301T115959.jsonl')).toBe('events_20260301T120000.jsonl');
    expect(segmentName(NOON, 'events_20260301T120000.jsonl')).toBe('events_20260301T120000_1.jsonl');
    expect(segmentName(NOON, 'events_20260301T120000_1.jsonl')).toBe('events_20260301T120000_2.jsonl');
  });

  it('always stands behind every other, also when the clock goes back and after the ninth in a second', () => {
    const moves = fc.array(fc.integer({ min: -5, max: 5 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(moves, (seconds) => {
        const names: string[] = [];
        for (const second of seconds) names.push(segmentName(NOON + second * 1000, names.at(-1) ?? ''));

        expect(names).toEqual([...names].sort(compareCodePoints));
        expect(new Set(names).size).toBe(names.length);
        for (const name of names) expect(name).toMatch(SEGMENT_NAME);
      }),
    );
  });
});

describe('the cursor file', () => {
  it('says to the log’s other readers where to go on and whom to look at again', () => {
    const position = { offset: 12, segment: '1:2', last_line_bytes: 4, last_line_hash: 'ab' };

    expect(toCursorFile({ position, deferred: { 't-1': '2026-03-01T00:00:00.000Z' } })).toEqual({
      offset: 12,
      deferred: { 't-1': '2026-03-01T00:00:00.000Z' },
      segment: '1:2',
      last_line_bytes: 4,
      last_line_hash: 'ab',
    });
  });

  it('is understood as they write it', () => {
    expect(fromCursorFile({ offset: 12, deferred: { 't-1': 'then' } })).toEqual({
      position: { offset: 12 },
      deferred: { 't-1': 'then' },
    });
    for (const bad of [{}, { offset: 'x', deferred: 3 }, { offset: -4, deferred: [] }, { offset: 1.5 }]) {
      expect(fromCursorFile(bad)).toEqual({ position: null, deferred: {} });
    }
  });

  it('gives back every document that the reconciler keeps', () => {
    const place = fc.record(
      {
        offset: fc.integer({ min: 1, max: 1e12 }),
        segment: fc.string(),
        last_line_bytes: fc.nat(),
        last_line_hash: fc.string(),
        more: fc.jsonValue(),
      },
      { requiredKeys: ['offset'] },
    );
    const document = fc.record(
      {
        position: fc.option(place),
        deferred: fc.dictionary(fc.constantFrom('t-1', 't-2'), fc.string()),
        failures: fc.dictionary(fc.constantFrom('t-1'), fc.nat()),
      },
      { requiredKeys: ['position', 'deferred'] },
    );
    fc.assert(
      fc.property(document, (value) => {
        const stored = JSON.parse(JSON.stringify(value)) as never;

        expect(fromCursorFile(JSON.parse(JSON.stringify(toCursorFile(stored))) as never)).toEqual(stored);
      }),
    );
  });
});

describe('the append lock of a log (ruling 13)', () => {
  it('is named after the resolved path, whichever way leads to the log', () => {
    const folder = mkdtempSync(join(tmpdir(), 'custody-lock-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, 'logs'));
    symlinkSync(folder, join(folder, 'other'));
    const expected = (log: string) =>
      `.append_jsonl_${createHash('sha256').update(log).digest('hex').slice(0, 12)}.lock`;
    const real = join(realpathSync(folder), 'logs', 'events.jsonl');

    expect(appendLockPath(join(folder, 'other', 'logs', 'events.jsonl'))).toBe(
      join(folder, 'other', 'logs', expected(real)),
    );
    writeFileSync(real, '');
    expect(appendLockPath(join(folder, 'logs', 'events.jsonl'))).toBe(join(folder, 'logs', expected(real)));
  });
});

import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCustodyLines } from '../../../packages/ledger/src/adapters/jsonl/custody-marks.ts';
import { MAX_LINE_BYTES, readLineBlocks } from '../../../packages/ledger/src/adapters/jsonl/line-reader.ts';
import { ChainMovedError } from '../../../packages/ledger/src/adapters/jsonl/segment-file.ts';
import { readLine } from '../../../packages/ledger/src/core/dialect.ts';

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'custody-lines-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function readBlocks(
  content: Buffer,
  range: { readonly from: number; readonly to: number },
): { text: string; ends: number[] } {
  const path = join(folder, 'log');
  writeFileSync(path, content);
  const fd = openSync(path, 'r');
  try {
    const parts: string[] = [];
    const ends: number[] = [];
    for (const block of readLineBlocks(fd, range.from, range.to)) {
      parts.push(block.bytes.toString('latin1'));
      ends.push(block.start + block.bytes.length);
    }
    return { text: parts.join(''), ends };
  } finally {
    closeSync(fd);
  }
}

describe('reading the complete lines of a file', () => {
  it('gives every complete line once, and nothing of the rest', () => {
    for (const size of [0, 1, 1_048_575, 1_048_576, 1_048_577, 3_000_000]) {
      const content = Buffer.from(`a\n${'b'.repeat(size)}\n\nc\r\nrest`);

      const { text, ends } = readBlocks(content, { from: 0, to: content.length });

      expect(text === content.toString('latin1').slice(0, -4)).toBe(true);
      expect(ends.at(-1)).toBe(content.length - 4);
    }
  });

  it('begins and ends where it is told', () => {
    expect(readBlocks(Buffer.from('one\ntwo\nthree\nfour\n'), { from: 4, to: 15 })).toEqual({
      text: 'two\nthree\n',
      ends: [14],
    });
  });

  it('passes over a line that is no event of anybody, without holding it', () => {
    const content = Buffer.concat([
      Buffer.from('before\n'),
      Buffer.alloc(MAX_LINE_BYTES + 5, 'x'),
      Buffer.from('\nafter\n'),
    ]);

    const { text, ends } = readBlocks(content, { from: 0, to: content.length });

    expect(text).toBe('before\nafter\n');
    expect(ends.at(-1)).toBe(content.length);
  });

  it('says so when the file is shorter than it was', () => {
    expect(() => readBlocks(Buffer.from('a\n'), { from: 0, to: 5 })).toThrow(ChainMovedError);
  });
});

describe('finding the lines that may be custody rows', () => {
  const names = fc.constantFrom(
    'delegate_run_started',
    'delegated_runs_unreconciled',
    'delegate_terminal_custody_reconciled',
    'custody_task_recorded',
    'run.started',
    'patch.disposed',
    'containment.fault',
    'x.note',
    'llm_call',
    'chat',
    'runner',
    'xylophone',
    '',
  );
  const space = fc.constantFrom('', ' ', '\t', ' \t ');
  const row = fc
    .tuple(names, space, space, fc.jsonValue({ maxDepth: 1 }), fc.boolean())
    .map(([name, before, after, value, isLast]) => {
      const type = `"type"${before}:${after}${JSON.stringify(name)}`;
      return isLast
        ? `{"value":${JSON.stringify(value)},${type}}`
        : `{${type},"value":${JSON.stringify(value)}}`;
    });
  const lines = fc.array(
    fc.oneof(row, fc.constantFrom('', 'delegate_run_started', '{"type":', '"type":"run.', '\r')),
    { maxLength: 20 },
  );

  it('misses none of those that are', () => {
    fc.assert(
      fc.property(lines, (texts) => {
        const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''));

        const found = [...findCustodyLines(bytes)].map(({ start, end }) =>
          bytes.toString('utf8', start, end),
        );

        const events = texts.filter((text) => readLine(text).kind === 'event');
        expect(found.filter((text) => readLine(text).kind === 'event')).toEqual(events);
      }),
    );
  });

  it('passes over rows that only speak of custody', () => {
    const noise = [
      { type: 'llm_call', text: '{"type":"delegate_run_started"}' },
      { type: 'chat', about: ['delegate_run_started'] },
      { kind: 'run.started' },
    ];
    const bytes = Buffer.from(noise.map((item) => `${JSON.stringify(item)}\n`).join(''));

    expect([...findCustodyLines(bytes)]).toEqual([]);
  });
});

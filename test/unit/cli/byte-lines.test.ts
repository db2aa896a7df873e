import { expect, test } from 'vitest';
import type { InputLine } from '../../../packages/cli/src/input/byte-lines.ts';
import { byteLines, MAX_LINE_BYTES } from '../../../packages/cli/src/input/byte-lines.ts';

async function* pieces(...parts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array, void> {
  for (const part of parts) yield typeof part === 'string' ? new TextEncoder().encode(part) : part;
}

/** Every line that came, and the code of the error that ended the input. */
async function read(
  input: AsyncIterable<Uint8Array>,
): Promise<{ lines: InputLine[]; batches: number; code: string | null; facts: unknown }> {
  const lines: InputLine[] = [];
  let batches = 0;
  try {
    for await (const batch of byteLines(input)) {
      batches += 1;
      lines.push(...batch);
    }
    return { lines, batches, code: null, facts: null };
  } catch (error) {
    const { code, facts } = error as { code: string; facts: unknown };
    return { lines, batches, code, facts };
  }
}

test('lines are numbered from 1, blank ones are counted and left out', async () => {
  const { lines } = await read(pieces('{"a":1}\n\n  \n{"b":2}\n'));

  expect(lines).toEqual([
    { number: 1, text: '{"a":1}' },
    { number: 4, text: '{"b":2}' },
  ]);
});

test('a last line without a newline is a line', async () => {
  const { lines } = await read(pieces('one\ntwo'));

  expect(lines.map((line) => line.text)).toEqual(['one', 'two']);
});

test('an empty input has no lines', async () => {
  expect(await read(pieces())).toMatchObject({ lines: [], code: null });
});

test('a line and a character that are cut between two pieces come together again', async () => {
  const bytes = new TextEncoder().encode('{"name":"ü😀"}\n');

  for (let cut = 1; cut < bytes.length; cut += 1) {
    const { lines } = await read(pieces(bytes.slice(0, cut), bytes.slice(cut)));
    expect(lines).toEqual([{ number: 1, text: '{"name":"ü😀"}' }]);
  }
});

test('the lines that one piece completes are one batch, so that a slow writer is not held back', async () => {
  const { batches, lines } = await read(pieces('a\nb\nc', 'c\n', 'd\n'));

  expect(lines.map((line) => line.text)).toEqual(['a', 'b', 'cc', 'd']);
  expect(batches).toBe(3);
});

test('a carriage return before the newline belongs to white space that JSON allows', async () => {
  const { lines } = await read(pieces('{"a":1}\r\n\r\n'));

  expect(lines).toEqual([{ number: 1, text: '{"a":1}\r' }]);
});

test('a byte order mark at the very beginning is left out, later ones are kept', async () => {
  const { lines } = await read(pieces('\ufeff{}\n\ufeff{}\n'));

  expect(lines.map((line) => line.text)).toEqual(['{}', '\ufeff{}']);
});

test('bytes that are no UTF-8 are refused with their line, after the lines before them', async () => {
  const { lines, code, facts } = await read(
    pieces('good\n', new Uint8Array([0x22, 0xff, 0x22, 0x0a]), 'never\n'),
  );

  expect(lines.map((line) => line.text)).toEqual(['good']);
  expect(code).toBe('invalid_json');
  expect(facts).toEqual({ line: 2 });
});

test('a line that never ends is refused before it fills the memory', async () => {
  async function* endless(): AsyncGenerator<Uint8Array, void> {
    yield new TextEncoder().encode('first\n');
    for (;;) yield new Uint8Array(1024 * 1024).fill(0x61);
  }

  const { lines, code, facts } = await read(endless());

  expect(lines.map((line) => line.text)).toEqual(['first']);
  expect(code).toBe('event_too_large');
  expect(facts).toEqual({ line: 2, limit: MAX_LINE_BYTES });
});

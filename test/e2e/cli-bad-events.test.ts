import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cliBench, shaped, toLines } from '../support/cli.ts';
import { ERROR_SCHEMA } from '../support/cli-schemas.ts';
import { filledStore } from '../support/cli-store.ts';

const GOOD = toLines({ type: 'x.note', text: 'good' });
const started = { type: 'run.started', task_id: 't-9', run_id: 'run-9' };

interface BadLine {
  readonly name: string;
  readonly line: string | Uint8Array;
  readonly code: string;
  readonly field?: string | null;
  readonly says: RegExp;
}

const BAD_LINES: readonly BadLine[] = [
  { name: 'a line that is not JSON', line: '{"type":"x.note",}', code: 'invalid_json', says: /is not JSON/ },
  { name: 'half a line', line: '{"type":"run.sett', code: 'invalid_json', says: /is not JSON/ },
  {
    name: 'bytes that are no UTF-8',
    line: new Uint8Array([0x7b, 0xff, 0x7d]),
    code: 'invalid_json',
    says: /not valid UTF-8/,
  },
  { name: 'a list', line: '[]', code: 'invalid_event', field: null, says: /must be a JSON object/ },
  { name: 'a number', line: '7', code: 'invalid_event', field: null, says: /must be a JSON object/ },
  {
    name: 'no type',
    line: '{"task_id":"t-1"}',
    code: 'invalid_event',
    field: 'type',
    says: /type is missing/,
  },
  {
    name: 'an unknown type',
    line: '{"type":"run.exploded"}',
    code: 'invalid_event',
    field: 'type',
    says: /"run.exploded" is unknown/,
  },
  {
    name: 'a type that only the ledger writes',
    line: '{"type":"custody.reconciled","task_id":"t-1","trigger":"x"}',
    code: 'invalid_event',
    field: 'type',
    says: /written by the ledger only/,
  },
  {
    name: 'a numeric id',
    line: '{"type":"x.note","id":7}',
    code: 'invalid_event',
    field: 'id',
    says: /ids are strings/,
  },
  {
    name: 'a numeric run id',
    line: '{"type":"run.started","task_id":"t-9","run_id":7}',
    code: 'invalid_event',
    field: 'run_id',
    says: /ids are strings/,
  },
  {
    name: 'an empty id',
    line: '{"type":"x.note","id":""}',
    code: 'invalid_event',
    field: 'id',
    says: /1 to 128 characters/,
  },
  {
    name: 'an id that is too long',
    line: toLines({ type: 'x.note', id: 'i'.repeat(129) }).trim(),
    code: 'invalid_event',
    field: 'id',
    says: /1 to 128 characters/,
  },
  {
    name: 'an id with a blank in it',
    line: '{"type":"x.note","id":"a b"}',
    code: 'invalid_event',
    field: 'id',
    says: /1 to 128 characters/,
  },
  {
    name: 'a missing field',
    line: '{"type":"run.started","run_id":"run-9"}',
    code: 'invalid_event',
    field: 'task_id',
    says: /task_id is missing/,
  },
  {
    name: 'an end without a state',
    line: '{"type":"run.settled","run_id":"run-2"}',
    code: 'invalid_event',
    field: 'state',
    says: /state/,
  },
  {
    name: 'an end of a run that nobody knows, without a task',
    line: '{"type":"run.settled","run_id":"run-unknown","state":"failed"}',
    code: 'invalid_event',
    field: 'task_id',
    says: /no start of run run-unknown/,
  },
  {
    name: 'a time without a zone',
    line: '{"type":"x.note","at":"2026-03-01T00:00:00"}',
    code: 'invalid_event',
    field: 'at',
    says: /ISO 8601/,
  },
  {
    name: 'a lone surrogate',
    line: '{"type":"x.note","deep":{"text":"\\ud800"}}',
    code: 'invalid_event',
    field: 'deep.text',
    says: /lone surrogate/,
  },
  {
    name: 'a NUL character',
    line: '{"type":"x.note","text":"a\\u0000b"}',
    code: 'invalid_event',
    field: 'text',
    says: /NUL/,
  },
  {
    name: 'a __proto__ key',
    line: '{"type":"x.note","__proto__":{"a":1}}',
    code: 'invalid_event',
    field: '__proto__',
    says: /reserved key/,
  },
  {
    name: 'a number beyond all numbers',
    line: '{"type":"x.note","n":1e999}',
    code: 'invalid_event',
    field: 'n',
    says: /finite/,
  },
  {
    name: 'an integer that would be rounded',
    line: '{"type":"x.note","n":12345678901234567890}',
    code: 'invalid_event',
    field: 'n',
    says: /12345678901234567890/,
  },
  {
    name: 'a seq',
    line: '{"type":"x.note","seq":1}',
    code: 'invalid_event',
    field: 'seq',
    says: /set by the ledger/,
  },
  {
    name: 'an id that stands for another event',
    line: '{"type":"x.note","id":"e-5","text":"another"}',
    code: 'event_id_conflict',
    field: 'id',
    says: /already stands/,
  },
  {
    name: 'an event of more than 1 MiB',
    line: toLines({ type: 'x.note', text: 'x'.repeat(1_048_576) }).trim(),
    code: 'event_too_large',
    says: /limit/,
  },
  {
    name: 'a line of more than 8 MiB',
    line: 'x'.repeat(9_000_000),
    code: 'event_too_large',
    says: /longer than/,
  },
];

/** Good lines around the bad one, which is line 2. */
function withGoodLines(line: string | Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(GOOD), Buffer.from(line), Buffer.from(`\n${GOOD}`)]);
}

test.for(BAD_LINES)(
  '$name is refused with its line, reason and hint, and leaves every byte as it was (P14)',
  async ({ line, code, field, says }) => {
    const bench = await filledStore();
    const store = bench.path('.custody/custody.db');
    const before = readFileSync(store);

    const { code: exitCode, value } = await bench.json(['event', 'append'], {
      stdin: Buffer.concat([Buffer.from(line), Buffer.from('\n')]),
    });

    const { error } = shaped(ERROR_SCHEMA, value);
    expect(exitCode).toBe(2);
    expect(error).toMatchObject({ code, line: 1, appended: 0, ...(field === undefined ? {} : { field }) });
    expect(error.message).toMatch(says);
    expect(error.message).toMatch(/^line 1\b/);
    expect(readFileSync(store).equals(before)).toBe(true);
  },
);

test.for(BAD_LINES)(
  '$name: the line before it is written, it and those behind it are not, and --atomic writes none',
  async ({ line, code }) => {
    const bench = await filledStore();

    const atomic = await bench.json(['event', 'append', '--atomic'], { stdin: withGoodLines(line) });
    const none = await bench.lines(['event', 'list', '--after', '5']);
    const stream = await bench.json(['event', 'append'], { stdin: withGoodLines(line) });
    const one = await bench.lines(['event', 'list', '--after', '5']);

    expect(atomic).toMatchObject({ code: 2, value: { error: { code, line: 2, appended: 0 } } });
    expect(none).toEqual([]);
    expect(stream).toMatchObject({ code: 2, value: { error: { code, line: 2, appended: 1 } } });
    expect(one).toMatchObject([{ seq: 6, text: 'good' }]);
  },
);

test('without --json the error is text on stderr with its place and its hint, and stdout stays empty', async () => {
  const bench = cliBench();

  const { code, stdout, stderr } = await bench.run(['event', 'append'], {
    stdin: `${GOOD}{"type":"run.started"}\n`,
  });

  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toBe(
    'custody: line 2: task_id is missing\n  line: 2\n  appended: 1\n  duplicates: 0\nhint: Correct the line and append it again. The lines before it are written.\n',
  );
});

test('input that is wrong from the start makes no store', async () => {
  const bench = cliBench();

  for (const args of [
    ['event', 'append'],
    ['event', 'append', '--atomic'],
    ['task', 'put'],
  ]) {
    expect((await bench.json(args, { stdin: '{"type":"nope"}\n' })).code).toBe(2);
    expect((await bench.json([...args, 'no-such-file'])).value).toMatchObject({
      error: { code: 'input_unreadable', file: 'no-such-file' },
    });
  }
  expect((await bench.run(['audit'])).code).toBe(3);
});

test('an input that is a directory is unreadable input, not an empty one', async () => {
  const bench = cliBench();

  for (const args of [
    ['event', 'append', '.'],
    ['task', 'put', '.'],
    ['sweep', '--live', '@.'],
  ]) {
    const { code, value } = await bench.json(args);
    expect(code).toBe(2);
    expect(shaped(ERROR_SCHEMA, value).error).toMatchObject({
      code: 'input_unreadable',
      file: '.',
    });
  }
});

test('events that start and settle in one input need no task on the end, and an empty input appends nothing', async () => {
  const bench = cliBench();

  const both = await bench.json(['event', 'append'], {
    stdin: toLines(started, { type: 'run.settled', run_id: 'run-9', state: 'failed' }),
  });
  const empty = await bench.json(['event', 'append'], { stdin: '\n  \n' });

  expect(both).toMatchObject({ code: 0, value: { appended: 2 } });
  expect(empty).toEqual({ code: 0, value: { appended: 0, duplicates: 0, first_seq: null, last_seq: null } });
});

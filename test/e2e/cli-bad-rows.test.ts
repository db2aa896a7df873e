import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { shaped, toLines } from '../support/cli.ts';
import { ERROR_SCHEMA, REFUSAL_SCHEMA } from '../support/cli-schemas.ts';
import { filledStore } from '../support/cli-store.ts';

const good = '{"task_id":"t-8","status":"running"}';

test.for([
  {
    name: 'a line that is not JSON',
    stdin: `${good}\n{"task_id":}\n`,
    code: 'invalid_json',
    place: { line: 2 },
  },
  { name: 'an item that is no object', stdin: `[${good},7]`, code: 'invalid_row', place: { index: 1 } },
  { name: 'an array that is not JSON', stdin: `[${good},`, code: 'invalid_json', place: {} },
  {
    name: 'a numeric task id',
    stdin: `${good}\n{"task_id":7,"status":"failed"}\n`,
    code: 'invalid_row',
    place: { line: 2, field: 'task_id' },
  },
  {
    name: 'an empty task id',
    stdin: '{"task_id":"","status":"failed"}',
    code: 'invalid_row',
    place: { line: 1, field: 'task_id' },
  },
  {
    name: 'no task id',
    stdin: `[${good},{"status":"failed"}]`,
    code: 'invalid_row',
    place: { index: 1, field: 'task_id' },
  },
  {
    name: 'no status',
    stdin: `${good}\n{"task_id":"t-9"}\n`,
    code: 'invalid_row',
    place: { line: 2, field: 'status' },
  },
  {
    name: 'a row of a newer program',
    stdin: '{"task_id":"t-9","status":"failed","_schema_version":2}',
    code: 'invalid_row',
    place: { line: 1, field: '_schema_version' },
  },
  {
    name: 'a pretty row with a fault',
    stdin: '{\n  "task_id": "t-9",\n  "status": \n}\n',
    code: 'invalid_json',
    place: { line: 1 },
  },
] as const)(
  '$name is refused with its place, and no row of the input is written (P14)',
  async ({ stdin, code, place }) => {
    const bench = await filledStore();
    const before = readFileSync(bench.path('.custody/custody.db'));

    const { code: exitCode, value } = await bench.json(['task', 'put'], { stdin });

    expect(exitCode).toBe(2);
    expect(shaped(ERROR_SCHEMA, value).error).toMatchObject({ code, ...place });
    expect(readFileSync(bench.path('.custody/custody.db')).equals(before)).toBe(true);
  },
);

test('a terminal row takes only its own status and new fields; the other rows of the input are written', async () => {
  const bench = await filledStore();
  const before = (await bench.run(['task', 'get', 't-1', '--json'])).stdout;

  const { code, value } = await bench.json(['task', 'put'], {
    stdin: toLines(
      { task_id: 't-1', status: 'completed', reason_code: 'changed', note: 'new' },
      { task_id: 't-5', status: 'running' },
    ),
  });

  expect(code).toBe(1);
  expect(shaped(REFUSAL_SCHEMA, value)).toMatchObject({
    outcome: 'refused',
    reason: 'row_frozen',
    task_id: 't-1',
    fields: ['status', 'reason_code'],
    written: 1,
    unchanged: 0,
  });
  expect((await bench.run(['task', 'get', 't-1', '--json'])).stdout).toBe(before);
  expect((await bench.json(['task', 'get', 't-5'])).code).toBe(0);
  const added = await bench.json(['task', 'put'], {
    stdin: toLines({ task_id: 't-1', status: 'failed', note: 'new' }),
  });
  expect(added).toEqual({ code: 0, value: { written: 1, unchanged: 0 } });
});

test('an old copy of a row that is written back does not undo a heal (P4)', async () => {
  const bench = await filledStore();
  const copy = (await bench.run(['task', 'get', 't-1', '--json'])).stdout;
  await bench.run(['backfill']);

  const { code, value } = await bench.json(['task', 'put'], { stdin: copy });

  expect({ code, value }).toEqual({ code: 0, value: { written: 0, unchanged: 1 } });
  expect((await bench.json(['task', 'get', 't-1'])).value).toMatchObject({
    actual_substrate: 'harness_used',
  });
});

test.for([
  { args: ['task', 'get', 'nobody'], fact: { task_id: 'nobody' } },
  { args: ['task', 'get', '../../etc/passwd'], fact: { task_id: '../../etc/passwd' } },
  { args: ['handoff', 'nobody'], fact: { task_id: 'nobody' } },
  { args: ['explain', 'nobody'], fact: { task_id: 'nobody' } },
  { args: ['inspect', 'task', 'nobody'], fact: { task_id: 'nobody' } },
  { args: ['inspect', 'run', 'nobody'], fact: { run_id: 'nobody' } },
] as const)('$args says not_found and exits 1', async ({ args, fact }) => {
  const bench = await filledStore();

  expect(await bench.json(args)).toEqual({ code: 1, value: { outcome: 'not_found', ...fact } });
  const text = await bench.run(args);
  expect(text).toMatchObject({ code: 1, stdout: '' });
  expect(text.stderr).toContain('there is no');
});

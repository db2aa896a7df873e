import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cliBench, parseLines, shaped, toLines } from '../support/cli.ts';
import { CLI_SCHEMAS } from '../support/cli-schemas.ts';
import { EVENTS, filledStore } from '../support/cli-store.ts';

test('event append counts what it wrote and what was there already', async () => {
  const bench = cliBench();

  const first = await bench.json(['event', 'append'], { stdin: EVENTS });
  const again = await bench.json(['append', '-'], { stdin: EVENTS });
  writeFileSync(bench.path('one.jsonl'), toLines({ type: 'x.note', id: 'e-6' }));
  const file = await bench.json(['event', 'append', 'one.jsonl', '--atomic']);

  expect(shaped(CLI_SCHEMAS['event append'], first.value)).toEqual({
    appended: 5,
    duplicates: 0,
    first_seq: 1,
    last_seq: 5,
  });
  expect(shaped(CLI_SCHEMAS.append, again.value)).toEqual({
    appended: 0,
    duplicates: 5,
    first_seq: null,
    last_seq: null,
  });
  expect(file.value).toEqual({ appended: 1, duplicates: 0, first_seq: 6, last_seq: 6 });
});

test('event list prints events in the order of seq, and filters', async () => {
  const bench = await filledStore();

  const all = (await bench.lines(['event', 'list'])).map((line) => shaped(CLI_SCHEMAS['event list'], line));
  const ofRun = await bench.lines(['event', 'list', '--run', 'run-1']);
  const ofTask = await bench.lines(['event', 'list', '--task', 't-1', '--after', '1', '--limit', '2']);
  const ofType = await bench.lines(['event', 'list', '--type', 'x.note']);

  expect(all.map((event) => event.seq)).toEqual([1, 2, 3, 4, 5]);
  expect(all[3]).toMatchObject({
    id: 'e-4',
    type: 'run.settled',
    task_id: 't-1',
    run_id: 'run-1',
    cost_usd: 1.25,
  });
  expect(ofRun).toEqual([all[1], all[3]]);
  expect(ofTask).toEqual([all[1], all[2]]);
  expect(ofType).toEqual([all[4]]);
});

test('the lines of event export can be chained with sha256 alone, and are those of event list', async () => {
  const bench = await filledStore();

  const exported = await bench.run(['event', 'export']);
  const listed = await bench.run(['event', 'list', '--json']);

  expect(exported.stdout).toBe(listed.stdout);
  for (const line of parseLines(exported.stdout)) shaped(CLI_SCHEMAS['event export'], line);
});

test('task put takes an object, an array and JSON Lines, and task get gives every value back as it was', async () => {
  const bench = cliBench();
  const exact =
    '{ "task_id": "t-1",\n "status": "running", "big": 12345678901234567890, "small": 1.0, "text": "\\u00e4" }';

  const object = await bench.json(['task', 'put'], { stdin: exact });
  const array = await bench.json(['task', 'put', '-'], {
    stdin: '[{"task_id":"t-2","status":"failed","n":1e2}, {"task_id":"t-3","status":"running"}]',
  });
  const lines = await bench.json(['task', 'put'], {
    stdin: toLines({ task_id: 't-4', status: 'failed' }, { task_id: 't-3', status: 'running' }),
  });

  expect(shaped(CLI_SCHEMAS['task put'], object.value)).toEqual({ written: 1, unchanged: 0 });
  expect(array.value).toEqual({ written: 2, unchanged: 0 });
  expect(lines.value).toEqual({ written: 1, unchanged: 1 });
  const { stdout } = await bench.run(['task', 'get', 't-1', '--json']);
  shaped(CLI_SCHEMAS['task get'], JSON.parse(stdout));
  expect(stdout).toContain('"big":12345678901234567890,"small":1.0,"text":"\\u00e4"');
  expect(
    parseLines((await bench.run(['task', 'list', '--json', '--status', 'failed'])).stdout),
  ).toMatchObject([{ task_id: 't-2' }, { task_id: 't-4' }]);
  expect((await bench.run(['task', 'list', '--json'])).stdout).toContain('"n":1e2');
});

test('task list --stale names exactly the rows that a backfill would change', async () => {
  const bench = await filledStore();
  await bench.run(['task', 'put'], { stdin: toLines({ task_id: 't-9', status: 'failed' }) });

  const before = (await bench.lines(['task', 'list', '--stale'])).map((line) =>
    shaped(CLI_SCHEMAS['task list'], line),
  );
  await bench.run(['backfill']);
  const after = await bench.lines(['task', 'list', '--stale']);

  expect(before.map((row) => row.task_id)).toEqual(['t-1']);
  expect(after).toEqual([]);
});

test('task get --effective follows a retry (S19)', async () => {
  const bench = cliBench();
  await bench.run(['task', 'put'], {
    stdin: toLines(
      {
        task_id: 't-orig',
        status: 'failed',
        retry_task_id: 't-retry',
        delegated_runs_unreconciled: ['run-stale'],
      },
      { task_id: 't-retry', status: 'failed' },
    ),
  });

  const effective = shaped(
    CLI_SCHEMAS['task get'],
    (await bench.json(['task', 'get', 't-orig', '--effective'])).value,
  );

  expect(effective).toMatchObject({
    task_id: 't-retry',
    original_task_id: 't-orig',
    delegated_runs_unreconciled: ['run-stale'],
  });
  await bench.run(['backfill']);
  const healed = (await bench.json(['task', 'get', 't-orig', '--effective'])).value as Record<
    string,
    unknown
  >;
  expect(healed['delegated_runs_unreconciled'] ?? []).not.toContain('run-stale');
});

import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { cliBench, shaped, toLines } from '../support/cli.ts';
import { CLI_SCHEMAS, ERROR_SCHEMA } from '../support/cli-schemas.ts';
import { filledStore } from '../support/cli-store.ts';
import { makeBoard } from '../support/kanban-board.ts';

const ROOT = fileURLToPath(new URL('../fixtures/delegate-root-small', import.meta.url));
const EXPECTED = JSON.parse(
  readFileSync(new URL('../fixtures/delegate-root-small.expected.json', import.meta.url), 'utf8'),
) as { readonly backfill: { readonly refreshed: readonly string[] } };

test('a data root is imported once, whatever how often, and heals as its own store would', async () => {
  const bench = cliBench();

  const first = shaped(CLI_SCHEMAS['event import'], (await bench.json(['event', 'import', ROOT])).value);
  const again = shaped(CLI_SCHEMAS['event import'], (await bench.json(['event', 'import', ROOT])).value);
  const backfill = shaped(CLI_SCHEMAS.backfill, (await bench.json(['backfill'])).value);

  expect(first.appended).toBeGreaterThan(600);
  expect(first.rows_written).toBe(38);
  expect(first.skipped.torn).toBe(1);
  expect(again).toMatchObject({ appended: 0, duplicates: first.appended, rows_written: 0 });
  expect(backfill.refreshed).toEqual(EXPECTED.backfill.refreshed);
  const afterwards = shaped(CLI_SCHEMAS['event import'], (await bench.json(['event', 'import', ROOT])).value);
  expect(afterwards).toMatchObject({ appended: 0, rows_written: 0 });
  expect((await bench.json(['backfill'])).value).toMatchObject({ refreshed: [] });
});

test('the same data root as a store of its own heals the same rows, and keeps its dialect', async () => {
  const bench = cliBench();
  cpSync(ROOT, bench.path('root'), { recursive: true });
  const store = ['-s', 'jsonl:root'];

  const backfill = shaped(CLI_SCHEMAS.backfill, (await bench.json([...store, 'backfill'])).value);
  const again = shaped(CLI_SCHEMAS.backfill, (await bench.json([...store, 'backfill'])).value);

  expect(backfill.refreshed).toEqual(EXPECTED.backfill.refreshed);
  expect(again.refreshed).toEqual([]);
  expect(readFileSync(bench.path('root/logs/events.jsonl'), 'utf8')).toContain(
    'delegate_terminal_custody_reconciled',
  );
  expect(shaped(CLI_SCHEMAS.verify, (await bench.json([...store, 'verify', '--rebuild'])).value).ok).toBe(
    true,
  );
  for (const args of [
    ['audit'],
    ['audit', '--all'],
    ['stats'],
    ['sweep'],
    ['inspect', 'task', 'task-00001'],
    ['explain', 'task-00001'],
  ]) {
    expect((await bench.json([...store, ...args])).code).toBe(0);
  }
});

test('an export imported into an empty ledger has the same seq, ids and hashes, and into its own nothing is new', async () => {
  const bench = await filledStore();
  await bench.run(['backfill']);
  const { stdout } = await bench.run(['event', 'export']);
  writeFileSync(bench.path('export.jsonl'), stdout);

  const copy = await bench.json(['-s', 'sqlite:copy.db', 'event', 'import', 'export.jsonl']);
  const own = await bench.json(['event', 'import', 'export.jsonl']);

  expect(copy).toMatchObject({ code: 0, value: { appended: 6, duplicates: 0 } });
  expect(own).toMatchObject({ code: 0, value: { appended: 0, duplicates: 6 } });
  expect((await bench.run(['-s', 'sqlite:copy.db', 'event', 'export'])).stdout).toBe(stdout);
  expect((await bench.json(['-s', 'sqlite:copy.db', 'verify', '--rebuild'])).code).toBe(0);
});

test('an export with an edited line is refused with its place, and nothing of it is imported', async () => {
  const bench = await filledStore();
  const { stdout } = await bench.run(['event', 'export']);
  writeFileSync(bench.path('edited.jsonl'), stdout.replace('"cost_usd":1.25', '"cost_usd":0.25'));

  const { code, value } = await bench.json(['-s', 'sqlite:copy.db', 'event', 'import', 'edited.jsonl']);

  expect(code).toBe(2);
  expect(shaped(ERROR_SCHEMA, value).error).toMatchObject({ code: 'invalid_event', line: 4 });
  expect(
    (await bench.lines(['-s', 'sqlite:copy.db', 'event', 'list'])).filter(
      (line) => 'seq' in (line as object),
    ),
  ).toEqual([]);
});

test('an import of nothing is an error that names the path', async () => {
  const bench = await filledStore();

  const { code, value } = await bench.json(['event', 'import', 'nowhere']);

  expect(code).toBe(3);
  expect(shaped(ERROR_SCHEMA, value).error).toMatchObject({ code: 'store_missing', path: 'nowhere' });
});

/** A root whose log can't be read: a directory stands where a segment belongs. */
function unreadableRoot(dir: string): void {
  mkdirSync(join(dir, 'logs/events.jsonl'), { recursive: true });
  mkdirSync(join(dir, 'task_results'));
  writeFileSync(
    join(dir, 'task_results/t-1.json'),
    '{\n  "status": "failed",\n  "delegated_runs_unreconciled": [\n    "run-1"\n  ]\n}',
  );
}

test('a log that can not be read: audits fail closed, appends and imports are refused with the place (P15)', async () => {
  const bench = cliBench();
  unreadableRoot(bench.path('root'));
  const store = ['-s', 'jsonl:root'];

  const audit = shaped(CLI_SCHEMAS.audit, (await bench.json([...store, 'audit', 't-1'])).value);
  const append = await bench.json([...store, 'event', 'append'], { stdin: toLines({ type: 'x.note' }) });
  const list = await bench.json([...store, 'event', 'list']);
  const imported = await bench.json(['event', 'import', 'root']);

  expect(audit.tasks[0]?.audit).toMatchObject({
    audit_status: 'failed',
    unreconciled: ['delegated_run_state_unknown:custody_log_unreadable'],
  });
  for (const { code, value } of [append, list, imported]) {
    expect(code).toBe(3);
    expect(shaped(ERROR_SCHEMA, value).error.code).toBe('log_unreadable');
  }
});

test('a row file that can not be read is named and left in place; the others are healed', async () => {
  const bench = cliBench();
  const row = '{\n  "status": "failed",\n  "delegated_runs_unreconciled": [\n    "run-1"\n  ]\n}';
  mkdirSync(bench.path('root/task_results'), { recursive: true });
  writeFileSync(bench.path('root/task_results/t-1.json'), row);
  writeFileSync(bench.path('root/task_results/t-2.json'), '{"status":');
  const store = ['-s', 'jsonl:root'];

  const backfill = await bench.json([...store, 'backfill']);
  const get = await bench.json([...store, 'task', 'get', 't-2']);
  const list = await bench.run([...store, 'task', 'list', '--json']);

  expect(backfill).toMatchObject({ code: 0, value: { refreshed: ['t-1'] } });
  expect(get.code).toBe(3);
  expect(shaped(ERROR_SCHEMA, get.value).error).toMatchObject({ code: 'row_unreadable', task_id: 't-2' });
  expect(list.stdout.trim().split('\n')).toHaveLength(1);
  expect(list.stderr).toContain('t-2');
  expect(readFileSync(bench.path('root/task_results/t-2.json'), 'utf8')).toBe('{"status":');
});

test('a row file that can not be read does not hide what its task and the others owe', async () => {
  const bench = cliBench();
  mkdirSync(bench.path('root/task_results'), { recursive: true });
  writeFileSync(bench.path('root/task_results/t-2.json'), '{"status":');
  const store = ['-s', 'jsonl:root'];
  const start = (task_id: string) => ({ type: 'run.started', task_id, run_id: `run-of-${task_id}` });
  await bench.run([...store, 'event', 'append'], { stdin: toLines(start('t-1'), start('t-2')) });

  const { code, value } = await bench.json([...store, 'audit', '--check']);

  expect(code).toBe(1);
  expect(shaped(CLI_SCHEMAS.audit, value).tasks).toMatchObject([
    { task_id: 't-1', audit: { unreconciled: ['run-of-t-1'] } },
    {
      task_id: 't-2',
      status: null,
      audit: { unreconciled: ['run-of-t-2'] },
      row_error: 'the row is not a JSON object',
    },
  ]);
});

test('a missing JSONL store is not made by looks and jobs', async () => {
  const bench = cliBench();

  for (const args of [['audit'], ['backfill'], ['verify'], ['event', 'list']]) {
    const { code, value } = await bench.json(['-s', 'jsonl:nowhere', ...args]);
    expect({ args, code }).toEqual({ args, code: 3 });
    expect(shaped(ERROR_SCHEMA, value).error.code).toBe('store_missing');
  }
  expect(existsSync(bench.path('nowhere'))).toBe(false);
});

test('event import takes a kanban board, counts what it skipped by why on stderr, and again appends nothing', async () => {
  const bench = cliBench();
  makeBoard(bench.path('kanban.db')).close();

  const first = await bench.run(['event', 'import', 'kanban.db']);
  const again = shaped(
    CLI_SCHEMAS['event import'],
    (await bench.json(['event', 'import', 'kanban.db'])).value,
  );
  const audit = await bench.run(['audit']);

  expect(first).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('13 events appended, 0 already there') as unknown,
  });
  const said = first.stderr.split('\n');
  expect(said).toContain('custody: skipped 1: sign of life');
  expect(said).toContain('custody: skipped 3: told by the start of its run');
  expect(said.filter((line) => line.startsWith('custody: skipped'))).toHaveLength(5);
  expect(again).toMatchObject({ appended: 0, duplicates: 13, skipped: { noise: 4, torn: 0, invalid: 3 } });
  expect(audit.stdout).toMatch(/ t_00000002 +t_00000002:run-3 +reader +holds the task$/m);
});

import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { importInto, openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { expect, onTestFinished, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { makeBoard, openBoard } from '../support/kanban-board.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'custody-board-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A board that nobody has open. */
function closedBoard(path = join(folder(), 'kanban.db')): string {
  makeBoard(path).close();
  return path;
}

async function typesOf(ledger: Ledger, taskId: string): Promise<readonly string[]> {
  return (await collect(ledger.read({ taskId }))).map(({ event }) =>
    `${event.type} ${String(event['run_id'] ?? '')}`.trim(),
  );
}

test('a kanban board is read as observed tasks: runs in the order of their ids, history beside them, and rows', async () => {
  await using ledger = await openLedger('memory:');

  const result = await importInto(ledger, closedBoard());

  expect(result).toMatchObject({
    appended: 13,
    duplicates: 0,
    rows_written: 4,
    rows_skipped: 0,
    skipped: { noise: 4, torn: 0, invalid: 3 },
    skipped_reasons: {
      'sign of life': 1,
      'told by the start of its run': 3,
      'event whose payload is no JSON': 1,
      'not an event of this ledger: type': 1,
      'event without a task, an id or a time': 1,
    },
    cursor: { events: 11, runs: 3 },
  });
  expect(await typesOf(ledger, 't_00000001')).toEqual([
    'x.kanban.created',
    'run.started t_00000001:run-1',
    'x.kanban.crashed t_00000001:run-1',
    'run.settled t_00000001:run-1',
    'run.started t_00000001:run-2',
    'x.kanban.completed t_00000001:run-2',
    'run.settled t_00000001:run-2',
    'task.recorded',
  ]);
  const ends = await collect(ledger.read({ type: 'run.settled' }));
  expect(ends.map(({ event }) => [event['state'], event['outcome_reason'], event.at])).toEqual([
    ['failed', 'crashed', '2026-03-01T00:00:30.000Z'],
    ['succeeded', 'completed', '2026-03-01T00:01:30.000Z'],
  ]);
  const row = async (taskId: string) => (await ledger.rows.load(taskId))?.row.value;
  expect(await row('t_00000001')).toMatchObject({
    status: 'completed',
    title: 'Write it',
    result: 'written',
    completed_run_id: 't_00000001:run-2',
    skills: '["ts"]',
    completed_at: '2026-03-01T00:01:30.000Z',
  });
  expect(await row('t_00000002')).toMatchObject({ status: 'running', current_run_id: 't_00000002:run-3' });
  expect(await row('t_00000002')).not.toHaveProperty('worker_pid');
  expect(await row('t_00000004')).toMatchObject({ status: 'completed', archived: true });
  const { tasks } = await createReconciler(ledger).audit();
  expect(tasks).toMatchObject([{ task_id: 't_00000002', open_attempts: ['t_00000002:run-3'] }]);
});

test('importing a board again appends nothing; what happened on it since is appended', async () => {
  await using ledger = await openLedger('memory:');
  const path = closedBoard();
  await importInto(ledger, path);

  expect(await importInto(ledger, path)).toMatchObject({ appended: 0, duplicates: 13, rows_written: 0 });

  const board = openBoard(path);
  board.exec(`
    update task_runs set status = 'done', outcome = 'completed', ended_at = 1772323300 where id = 3;
    update tasks set status = 'done', completed_at = 1772323300, current_run_id = null, completed_run_id = 3 where id = 't_00000002';
    insert into task_events (task_id, run_id, kind, created_at) values ('t_00000002', 3, 'completed', 1772323300);
    update tasks set status = 'archived' where id = 't_00000001';`);
  board.close();

  // An end, an entry, and two tasks as they stand now.
  expect(await importInto(ledger, path)).toMatchObject({
    appended: 4,
    duplicates: 11,
    rows_written: 2,
    rows_skipped: 0,
  });
  expect((await ledger.rows.load('t_00000001'))?.row.value).toMatchObject({
    status: 'completed',
    archived: true,
  });
  expect((await ledger.verify({ rebuild: true })).ok).toBe(true);
});

test('a board is never changed, and nothing is left beside it, also while its own program has it open', async () => {
  await using ledger = await openLedger('memory:');
  const path = closedBoard();
  const before = readFileSync(path);

  await importInto(ledger, path);

  expect(readFileSync(path).equals(before)).toBe(true);
  expect(readdirSync(join(path, '..'))).toEqual(['kanban.db']);

  const open = openBoard(path);
  open.exec(`update tasks set title = 'Changed' where id = 't_00000003'`);
  const held = readFileSync(path);
  expect(await importInto(ledger, path)).toMatchObject({ appended: 1, rows_written: 1 });
  expect(readFileSync(path).equals(held)).toBe(true);
  open.close();
});

test('a board whose row reopened leaves the terminal row as it was, and says so', async () => {
  await using ledger = await openLedger('memory:');
  const path = closedBoard();
  await importInto(ledger, path);
  const board = openBoard(path);
  board.exec(`update tasks set status = 'ready', completed_at = null where id = 't_00000001'`);
  board.close();

  const result = await importInto(ledger, path);

  expect(result).toMatchObject({
    appended: 1,
    rows_skipped: 1,
    problems: expect.arrayContaining([expect.objectContaining({ task_id: 't_00000001' })]) as unknown,
  });
  expect((await ledger.rows.load('t_00000001'))?.row.status).toBe('completed');
});

test('a database that is no board, a custody store, and a damaged file are refused by name', async () => {
  await using ledger = await openLedger('memory:');
  const directory = folder();
  const store = join(directory, 'custody.db');
  await (await openLedger(`sqlite:${store}`)).close();
  const cut = join(directory, 'cut.db');
  copyFileSync(closedBoard(), cut);
  writeFileSync(cut, readFileSync(cut).subarray(0, 5000));

  await expect(importInto(ledger, store)).rejects.toMatchObject({
    code: 'not_a_store',
    hint: expect.stringContaining('event export') as unknown,
  });
  await expect(importInto(ledger, cut)).rejects.toMatchObject({ code: 'store_corrupt' });
  expect((await ledger.head()).seq).toBe(0);
});

test('a file of plain JSON Lines says what it skipped, and why', async () => {
  await using ledger = await openLedger('memory:');
  const path = join(folder(), 'events.jsonl');
  const lines = [
    '{"type":"run.started","run_id":"r-1","task_id":"t-1"}',
    '{"type":"run.startd"}',
    '{"a":1}',
    '[1]',
    'nonsense',
    '{"type":"run.settled","run_id":"r-1","state":"succeeded"}',
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);

  const result = await importInto(ledger, path);

  expect(result).toMatchObject({
    appended: 2,
    skipped_reasons: { 'of an unknown type': 1, 'without a type': 1 },
  });
  expect(result.skipped.noise + result.skipped.torn).toBe(4);
  expect(await importInto(ledger, path)).toMatchObject({ appended: 0, duplicates: 2 });
});

import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { Ledger, RowProblem, RowUpdate } from '@custody/ledger';
import { compareCodePoints, openLedger, parseTaskRow } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { settled, started } from '../support/events.ts';
import type { ForeignRoot } from '../support/foreign-root.ts';
import { foreignRoot, settleRow, startRow } from '../support/foreign-root.ts';
import { eventsOf } from '../support/log.ts';
import { failedRow, listOf } from '../support/terminal-rows.ts';

/** A root with one stale row for each id. */
function staleRoot(...ids: readonly string[]): ForeignRoot {
  const root = foreignRoot();
  root.rows(...ids.flatMap((id) => [startRow(`run-${id}`, id), settleRow(`run-${id}`, id)]));
  for (const id of ids)
    root.put(`task_results/${id}.json`, JSON.stringify(failedRow(id, [`run-${id}`]), null, 2));
  return root;
}

async function updateOf(ledger: Ledger, taskId: string): Promise<RowUpdate> {
  const loaded = await ledger.rows.load(taskId);
  const custody = (await ledger.custody.tasks([taskId])).get(taskId);
  if (loaded === null || custody === undefined) throw new Error(`${taskId} is not there`);
  return {
    task_id: taskId,
    expected_version: loaded.version,
    custody_seq: custody.facts.last_seq,
    confirms: true,
    live: { delegated_runs_unreconciled: [] },
    evidence: { type: 'custody.reconciled', task_id: taskId, trigger: 'sweep_refresh' },
  };
}

/** The log can't be read and written while the work runs. */
async function withoutLog<T>(root: ForeignRoot, work: () => Promise<T>): Promise<T> {
  renameSync(root.at('logs', 'events.jsonl'), root.at('logs', 'kept'));
  mkdirSync(root.at('logs', 'events.jsonl'));
  try {
    return await work();
  } finally {
    rmSync(root.at('logs', 'events.jsonl'), { recursive: true });
    renameSync(root.at('logs', 'kept'), root.at('logs', 'events.jsonl'));
  }
}

describe('rows as files', () => {
  test('ruling 1: what is no row of ours is told of, never read, and left byte for byte', async () => {
    const root = staleRoot('t-1');
    const others: Readonly<Record<string, string | Buffer>> = {
      'bom.json': '\uFEFF{"status":"failed"}',
      'latin.json': Buffer.from([0x7b, 0x22, 0xe9, 0x22, 0x3a, 0x31, 0x7d]),
      'cut.json': '{"status":"failed"',
      'list.json': '[]',
      'empty.json': '',
      'future.json': '{"_schema_version":2,"status":"failed"}',
      'stamp.json': '{"_schema_version":"1","status":"failed"}',
      '.hidden.json': '{"status":"failed"}',
      'notes.txt': 'notes',
      'a b.json': '{}',
    };
    for (const [name, content] of Object.entries(others))
      writeFileSync(root.at('task_results', name), content);
    mkdirSync(root.at('task_results', 'quarantine'));
    mkdirSync(root.at('task_results', 'folder.json'));
    symlinkSync(root.at('task_results', 't-1.json'), root.at('task_results', 'link.json'));
    const ledger = await root.open();

    const problems: RowProblem[] = [];
    const rows = await collect(ledger.rows.list({ onProblem: (problem) => problems.push(problem) }));
    expect(rows.map(({ row }) => row.task_id)).toEqual(['t-1']);
    expect(
      problems
        .map((problem) => problem.place.slice(root.at('task_results').length + 1))
        .sort(compareCodePoints),
    ).toEqual([
      '.hidden.json',
      'a b.json',
      'bom.json',
      'cut.json',
      'empty.json',
      'folder.json',
      'future.json',
      'latin.json',
      'link.json',
      'list.json',
      'notes.txt',
      'stamp.json',
    ]);
    for (const id of ['bom', 'latin', 'cut', 'list', 'empty', 'future', 'stamp', 'folder', 'link']) {
      await expect(ledger.rows.load(id)).rejects.toMatchObject({ code: 'invalid_row' });
      await expect(
        ledger.rows.put([parseTaskRow(JSON.stringify({ task_id: id, status: 'failed' }))]),
      ).rejects.toMatchObject({ code: 'invalid_row' });
    }
    expect(await ledger.rows.load('none')).toBeNull();
    expect(await ledger.rows.load('t:1')).toBeNull();

    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: ['t-1'], failed: [] });
    for (const [name, content] of Object.entries(others))
      expect(readFileSync(root.at('task_results', name))).toEqual(Buffer.from(content));
    expect(
      (await ledger.verify()).notes.filter((note) => ['unreadable_row', 'stray_file'].includes(note.code)),
    ).toHaveLength(12);
  });

  test('ruling 2: a heal changes live fields and nothing else of the text, and keeps the file’s mode', async () => {
    const root = staleRoot('t-1');
    const text =
      '{\n  "status": "failed",\n  "big": 123456789012345678901234567890,\n  "odd": 1.50e+3,\n  "esc": "\\u00e9\\/",\n  "delegated_runs_unreconciled": [\n    "run-t-1"\n  ],\n  "nested": {"a":1,   "b":[1.0,2]}\n}';
    root.put('task_results/t-1.json', text);
    chmodSync(root.at('task_results', 't-1.json'), 0o640);
    const ledger = await root.open();

    expect(await ledger.rows.update([await updateOf(ledger, 't-1')])).toEqual([
      { outcome: 'updated', evidence: 'recorded' },
    ]);

    expect(root.text('task_results/t-1.json')).toBe(text.replace('[\n    "run-t-1"\n  ]', '[]'));
    expect(statSync(root.at('task_results', 't-1.json')).mode & 0o777).toBe(0o640);
    expect(readdirSync(root.at('task_results'))).toEqual(['t-1.json']);
  });

  test('names of tasks that can’t name a file are refused before anything is written', async () => {
    const root = foreignRoot();
    const ledger = await root.open();
    const rows = ['t-1', 't:2'].map((id) => parseTaskRow(JSON.stringify({ task_id: id, status: 'failed' })));

    await expect(ledger.rows.put(rows)).rejects.toMatchObject({
      code: 'invalid_row',
      facts: { task_id: 't:2' },
    });
    expect(await ledger.rows.count()).toBe(0);
  });

  test('a row that somebody rewrote, or whose task had an event, since it was read is read again first', async () => {
    const root = staleRoot('t-1', 't-2', 't-3');
    const ledger = await root.open();
    const updates = [
      await updateOf(ledger, 't-1'),
      await updateOf(ledger, 't-2'),
      await updateOf(ledger, 't-3'),
    ];
    root.put('task_results/t-1.json', JSON.stringify(failedRow('t-1', ['run-t-1'], { note: 'mine' })));
    root.rows(startRow('run-more', 't-2'));

    expect((await ledger.rows.update(updates)).map((result) => result.outcome)).toEqual([
      'changed_meanwhile',
      'changed_meanwhile',
      'updated',
    ]);
    expect(await eventsOf(ledger, 'custody.reconciled')).toMatchObject([{ task_id: 't-3' }]);
  });

  test('a confirmed row is passed over until anybody touches it', async () => {
    const root = staleRoot('t-1', 't-2');
    const ledger = await root.open();
    expect(await ledger.rows.selectStale()).toEqual(['t-1', 't-2']);
    await ledger.rows.update([await updateOf(ledger, 't-1'), await updateOf(ledger, 't-2')]);
    expect(await ledger.rows.selectStale()).toEqual([]);

    root.put('task_results/t-1.json', root.text('task_results/t-1.json'));
    expect(await ledger.rows.selectStale()).toEqual(['t-1']);
    root.rows(startRow('run-more', 't-2'));
    expect(await ledger.rows.selectStale()).toEqual(['t-1', 't-2']);
  });

  test('a replica is read from a drive beside the root, or anywhere', async () => {
    const root = foreignRoot();
    root.put('children/c-1/task_results/t-1.json', '{"status":"failed","note":"replica"}');
    const ledger = await root.open();

    expect((await ledger.replicas?.read('children/c-1', 't-1'))?.value['note']).toBe('replica');
    expect((await ledger.replicas?.read(root.at('children', 'c-1'), 't-1'))?.value['note']).toBe('replica');
    for (const drive of ['children/none', '', 'children/c-1/task_results/t-1.json'])
      expect(await ledger.replicas?.read(drive, 't-1')).toBeNull();
  });
});

describe('evidence that the log could not take', () => {
  test('ruling 12, V9: the heal stands, and the next call that can write adds the event once', async () => {
    const root = staleRoot('t-1', 't-2');
    const ledger = await root.open();
    const update = await updateOf(ledger, 't-1');

    const results = await withoutLog(root, () => ledger.rows.update([update]));

    expect(results).toEqual([{ outcome: 'updated', evidence: 'missing' }]);
    expect(await listOf(ledger, 't-1')).toEqual([]);
    expect(await eventsOf(ledger, 'custody.reconciled')).toEqual([]);

    await ledger.rows.update([await updateOf(ledger, 't-2')]);
    const told = await eventsOf(ledger, 'custody.reconciled');
    expect(told.map((event) => [event['task_id'], event['recovered']])).toEqual([
      ['t-1', true],
      ['t-2', undefined],
    ]);
    await using other = await openLedger(root.url);
    expect(await eventsOf(other, 'custody.reconciled')).toHaveLength(2);
  });

  test('V9: is added by whoever opens the ledger next', async () => {
    const root = staleRoot('t-1');
    const first = await root.open();
    const update = await updateOf(first, 't-1');
    await withoutLog(root, () => first.rows.update([update]));
    await first.close();

    const next = await root.open();

    expect(await eventsOf(next, 'custody.reconciled')).toMatchObject([{ task_id: 't-1', recovered: true }]);
  });

  test('V9: is dropped when the row was changed again: what it told of is no more', async () => {
    const root = staleRoot('t-1');
    const ledger = await root.open();
    const update = await updateOf(ledger, 't-1');
    await withoutLog(root, () => ledger.rows.update([update]));
    root.put('task_results/t-1.json', JSON.stringify(failedRow('t-1', ['run-t-1'])));

    await using next = await openLedger(root.url);

    expect(await eventsOf(next, 'custody.reconciled')).toEqual([]);
  });
});

test('section 4: while the log can’t be read a row says so, and says the truth again afterwards', async () => {
  const root = staleRoot('t-1');
  const ledger = await root.open();
  const reconciler = createReconciler(ledger);
  await ledger.custody.isReadable();

  await withoutLog(root, async () => {
    expect(await reconciler.clear('t-1')).toMatchObject({ refreshed: true });
  });
  expect(await listOf(ledger, 't-1')).toEqual(['delegated_run_state_unknown:custody_log_unreadable']);

  expect(await reconciler.clear('t-1')).toMatchObject({ refreshed: true });
  expect(await listOf(ledger, 't-1')).toEqual([]);
});

test('S14: a row that is not there is never made by a heal', async () => {
  const root = staleRoot('t-1');
  const ledger = await root.open();
  await ledger.append([started('run-2', 't-2'), settled('run-2')]);
  const update = await updateOf(ledger, 't-1');
  rmSync(root.at('task_results', 't-1.json'));

  expect(await ledger.rows.update([update, { ...update, task_id: 't-2' }])).toEqual([
    { outcome: 'gone' },
    { outcome: 'gone' },
  ]);
  expect(readdirSync(root.at('task_results'))).toEqual([]);
  expect(await eventsOf(ledger, 'custody.reconciled')).toEqual([]);
});

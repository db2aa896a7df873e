import { mkdirSync } from 'node:fs';
import type { ImportProgress, JsonObject, Ledger } from '@custody/ledger';
import { importInto, openLedger, toPrintedLine } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { copyFixture } from '../support/data-root.ts';
import { event, settled, started } from '../support/events.ts';
import { foreignRoot, noiseRow, settleRow, startRow } from '../support/foreign-root.ts';
import { eventsOf } from '../support/log.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

async function emptyLedger(url = 'memory:'): Promise<Ledger> {
  const ledger = await openLedger(url);
  onTestFinished(() => ledger.close());
  return ledger;
}

async function exportOf(ledger: Ledger): Promise<readonly string[]> {
  return (await collect(ledger.read())).map(({ text, event: { hash } }) => toPrintedLine(text, hash));
}

async function custodyOf(ledger: Ledger, taskIds: readonly string[]) {
  const tasks = await ledger.custody.tasks(taskIds);
  return taskIds.map((id) => {
    const task = tasks.get(id);
    return {
      runs: task?.runs,
      invocations: task?.invocations,
      facts: task?.facts,
      evidence: [...(task?.evidence ?? [])].sort((a, b) => (a.run_id < b.run_id ? -1 : 1)),
    };
  });
}

describe('the import of a data root', () => {
  test('gives the same ids in the same order, the same debts, and the rows', async () => {
    const root = foreignRoot();
    copyFixture(root.path);
    const source = await root.open();
    const progress: ImportProgress[] = [];
    const ledger = await emptyLedger(`sqlite:${root.at('imported.db')}`);

    const result = await importInto(ledger, root.path, { onProgress: (step) => progress.push(step) });

    const { seq } = await source.head();
    expect(result).toMatchObject({
      appended: seq,
      duplicates: 0,
      rows_written: 38,
      rows_skipped: 4,
      skipped: { invalid: 0 },
    });
    expect(result.problems.map((problem) => problem.task_id)).toEqual([
      'zz-cut-0',
      'zz-empty-2',
      'zz-future-3',
      'zz-list-1',
    ]);
    expect(progress.at(-1)).toMatchObject({ events: seq });
    expect((await eventsOf(ledger)).map(({ id, type, at }) => [id, type, at])).toEqual(
      (await eventsOf(source)).map(({ id, type, at }) => [id, type, at]),
    );
    const tasks = (await collect(source.rows.list({}))).map(({ row }) => row.task_id);
    expect(await custodyOf(ledger, tasks)).toEqual(await custodyOf(source, tasks));
    expect(await ledger.custody.openFaults()).toEqual(await source.custody.openFaults());

    const again = await importInto(ledger, root.path);
    expect(again).toMatchObject({
      appended: 0,
      duplicates: seq,
      rows_written: 0,
      skipped: result.skipped,
      cursor: result.cursor,
    });
  });

  test('again, takes what is new, and never undoes a heal', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'), noiseRow());
    root.rotate('events_20260301T010000.jsonl');
    root.rows(settleRow('run-1', 't-1'));
    root.append('{"torn');
    root.put('task_results/t-1.json', JSON.stringify(failedRow('t-1', ['run-1'])));
    const ledger = await emptyLedger();
    expect(await importInto(ledger, root.path)).toMatchObject({
      appended: 2,
      rows_written: 1,
      skipped: { noise: 1, torn: 1, invalid: 0 },
    });
    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: ['t-1'] });

    root.append('\n');
    root.rows(startRow('run-2', 't-2'));
    root.rotate('events_20260301T020000.jsonl');

    expect(await importInto(ledger, root.path)).toMatchObject({
      appended: 1,
      duplicates: 2,
      rows_written: 0,
      rows_skipped: 0,
      skipped: { torn: 1 },
    });
    expect(await listOf(ledger, 't-1')).toEqual([]);
    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: [] });
  });

  test('takes rows that no append would: an end before its start that names no task stays one', async () => {
    const root = foreignRoot();
    root.rows(
      { type: 'delegate_run_settled', run_id: 'run-1', state: 'evaporated', cost_usd: '1.5' },
      startRow('run-1', 't-1'),
      { type: 'delegate_run_teleported', run_id: 'run-1' },
      { type: 'delegate_run_settled', run_id: 'run-1', state: 'failed' },
    );
    const source = await root.open();
    const ledger = await emptyLedger();

    expect(await importInto(ledger, root.path)).toMatchObject({ appended: 4, skipped: { invalid: 0 } });
    expect(await custodyOf(ledger, ['t-1'])).toEqual(await custodyOf(source, ['t-1']));
    expect(await ledger.custody.run('run-1')).toMatchObject({
      terminal_state: 'evaporated',
      conflicting_verdicts: 1,
    });
  });

  test('keeps two ends of a run that nobody started, and notes that they differ without naming a task', async () => {
    const root = foreignRoot();
    root.rows(
      { type: 'delegate_run_settled', run_id: 'run-1', state: 'succeeded' },
      { type: 'delegate_run_settled', run_id: 'run-1', state: 'failed' },
    );
    const ledger = await emptyLedger();
    await importInto(ledger, root.path);

    const [note] = (await ledger.verify()).notes;

    expect(note).toEqual({
      code: 'conflicting_verdicts',
      message: 'run run-1 was settled again with another state; the first one stands',
    });
  });

  test('leaves out and names what no event may be, and what would change a frozen row', async () => {
    const root = foreignRoot();
    root.rows(
      startRow('run-1', 't-1', { prompt: 'x'.repeat(1_100_000) }),
      { id: 'e-1', type: 'run.started', run_id: 'run-2', task_id: 't-1' },
      { id: 'e-1', type: 'run.started', run_id: 'run-3', task_id: 't-1' },
      startRow('run-4', 't-1', { id: 'e-1' }),
      startRow('run-5', 't-1', { id: 'e-1' }),
    );
    root.put('task_results/t-1.json', JSON.stringify(failedRow('t-1', null, { result: 'theirs' })));
    const ledger = await emptyLedger();
    await putRow(ledger, failedRow('t-1', null, { result: 'ours' }));

    const result = await importInto(ledger, root.path);

    expect(result).toMatchObject({ appended: 3, skipped: { invalid: 2 }, rows_written: 0, rows_skipped: 1 });
    expect(result.problems).toMatchObject([
      { place: 'logs/events.jsonl', line: 1 },
      { place: 'logs/events.jsonl', line: 3 },
      { task_id: 't-1' },
    ]);
    expect((await ledger.custody.openRuns()).map((run) => run.run_id)).toEqual(['run-2', 'run-4', 'run-5']);
    expect(await importInto(ledger, root.path)).toMatchObject({
      appended: 0,
      duplicates: 3,
      skipped: { invalid: 2 },
    });
  });

  test('takes the faults that only their compact copy holds', async () => {
    const root = foreignRoot();
    const fault = (runId: string): JsonObject => ({
      ts: '2026-03-01T00:00:00Z',
      type: 'delegate_run_containment_fault',
      run_id: runId,
      task_id: 't-1',
      reason: 'r',
    });
    root.rows(fault('run-1'));
    root.put(
      'logs/containment_faults.jsonl',
      `${JSON.stringify(fault('run-1'))}\n${JSON.stringify(fault('run-2'))}\n`,
    );
    const ledger = await emptyLedger();

    expect(await importInto(ledger, root.path)).toMatchObject({ appended: 2 });
    expect((await ledger.custody.openFaults()).map((record) => record.run_id)).toEqual(['run-1', 'run-2']);
    expect(await importInto(ledger, root.path)).toMatchObject({ appended: 0, duplicates: 2 });
  });

  test('is refused when a part of the log can’t be read, or nothing is there', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    mkdirSync(root.at('archive', 'events_1.jsonl'), { recursive: true });
    const ledger = await emptyLedger();

    await expect(importInto(ledger, root.path)).rejects.toMatchObject({ code: 'log_unreadable' });
    await expect(importInto(ledger, root.at('nothing'))).rejects.toMatchObject({ code: 'store_missing' });
    expect((await ledger.head()).seq).toBe(0);
  });

  test('of many events goes in batches, and into a log of lines too', async () => {
    const root = foreignRoot();
    const rows = Array.from({ length: 6500 }, (_, index) => startRow(`run-${index}`, `t-${index % 10}`));
    root.rows(...rows);
    const target = foreignRoot();
    const ledger = await target.open();
    const seen: number[] = [];

    expect(
      await importInto(ledger, root.path, { onProgress: ({ events }) => seen.push(events) }),
    ).toMatchObject({ appended: 6500 });
    expect(seen).toEqual([2000, 4000, 6000, 6500]);
    const source = await root.open();
    expect((await eventsOf(ledger)).map(({ id }) => id)).toEqual(
      (await eventsOf(source)).map(({ id }) => id),
    );
    expect(await importInto(ledger, root.path)).toMatchObject({ appended: 0, duplicates: 6500 });
  });
});

describe('the import of an export', () => {
  async function filled(url = 'memory:'): Promise<Ledger> {
    const ledger = await emptyLedger(url);
    await ledger.append([started('run-1', 't-1', { note: 'line\u2028end ü €' }), started('run-2', 't-1')]);
    await ledger.append([
      settled('run-1'),
      event('containment.fault', { run_id: 'run-2', reason: 'r' }),
      settled('run-2'),
    ]);
    return ledger;
  }

  test.each(['memory', 'sqlite'])(
    'into an empty %s ledger gives the same places, ids and hashes; again, nothing',
    async (kind) => {
      const root = foreignRoot();
      const lines = await exportOf(await filled(kind === 'memory' ? 'memory:' : `sqlite:${root.at('a.db')}`));
      root.put('export.jsonl', `${lines.join('\n')}\n`);
      const ledger = await emptyLedger(kind === 'memory' ? 'memory:' : `sqlite:${root.at('b.db')}`);

      expect(await importInto(ledger, root.at('export.jsonl'))).toMatchObject({
        appended: 5,
        duplicates: 0,
        skipped: { noise: 0, torn: 0, invalid: 0 },
      });
      expect(await exportOf(ledger)).toEqual(lines);
      expect(await importInto(ledger, root.at('export.jsonl'))).toMatchObject({ appended: 0, duplicates: 5 });
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
    },
  );

  test('that was changed is refused with its line, and nothing of it is taken', async () => {
    const root = foreignRoot();
    const lines = await exportOf(await filled());
    const changed = (line: number, from: string, to: string) =>
      lines.map((text, index) => (index === line ? text.replace(from, to) : text));
    const cases: readonly [number, readonly string[]][] = [
      [1, changed(0, 'run-1', 'run-9')],
      [3, changed(2, 'succeeded', 'cancelled')],
      [5, changed(4, '1.25', '1.26')],
      [
        2,
        changed(1, '"hash":"', '"hash":"0').map((text) =>
          text.replace(/"hash":"0([0-9a-f]{63})[0-9a-f]"/, '"hash":"0$1"'),
        ),
      ],
      [4, lines.map((text, index) => (index === 3 ? '{"type":"run.started"}' : text))],
      [1, changed(0, 'run-1', 'run-9').slice(0, 1)],
    ];
    for (const [line, texts] of cases) {
      root.put('export.jsonl', texts.join('\n'));
      const ledger = await emptyLedger();
      await expect(importInto(ledger, root.at('export.jsonl'))).rejects.toMatchObject({
        code: 'invalid_event',
        facts: { line, appended: 0 },
      });
      expect((await ledger.head()).seq).toBe(0);
    }
  });

  test('of a ledger that went another way is refused where it differs', async () => {
    const root = foreignRoot();
    const source = await emptyLedger();
    await source.append([started('run-1', 't-1', { id: 'e-1' }), started('run-2', 't-1', { id: 'e-2' })]);
    root.put('export.jsonl', (await exportOf(source)).join('\n'));
    const ledger = await emptyLedger();
    await ledger.append([started('run-other', 't-1', { id: 'e-2' })]);

    await expect(importInto(ledger, root.at('export.jsonl'))).rejects.toMatchObject({
      code: 'event_id_conflict',
      facts: { line: 2, appended: 1 },
    });
  });

  test('of a part, or behind other events, keeps ids and order', async () => {
    const root = foreignRoot();
    const lines = await exportOf(await filled());
    root.put('part.jsonl', [...lines.slice(1, 2), ...lines.slice(3)].join('\n'));
    const ledger = await emptyLedger();
    await ledger.append([started('run-0', 't-0')]);

    expect(await importInto(ledger, root.at('part.jsonl'))).toMatchObject({ appended: 3 });
    expect((await eventsOf(ledger)).slice(1).map(({ id }) => id)).toEqual(
      [lines[1], lines[3], lines[4]].map((line) => (JSON.parse(line ?? '') as JsonObject)['id']),
    );
  });

  test.each(['custody', 'ouroboros'] as const)(
    'of a log of lines in the %s dialect keeps ids and order; its hashes run over raw lines',
    async (dialect) => {
      for (const count of [1, 3]) {
        const root = foreignRoot();
        const source = await root.open({ dialect });
        for (let index = 0; index < count; index += 1)
          await source.append([started(`run-${index}`, 't-1', { id: `e-${index}` })]);
        root.put('export.jsonl', (await exportOf(source)).join('\n'));
        const ledger = await emptyLedger();

        expect(await importInto(ledger, root.at('export.jsonl'))).toMatchObject({ appended: count });
        expect((await eventsOf(ledger)).map(({ id, seq }) => [id, seq])).toEqual(
          (await eventsOf(source)).map(({ id, seq }) => [id, seq]),
        );
        expect(await ledger.verify()).toMatchObject({ ok: true });
      }
    },
  );
});

describe('the import of a file of events', () => {
  test('takes events of both dialects, one a line, also the last without its newline', async () => {
    const root = foreignRoot();
    root.put(
      'events.jsonl',
      `${JSON.stringify(started('run-1', 't-1'))}\n\n${JSON.stringify(settleRow('run-1', 't-1'))}\n{"other":1}\n{"cut\n${JSON.stringify(started('run-2', 't-1', { id: 'e-2' }))}`,
    );
    const ledger = await emptyLedger();

    expect(await importInto(ledger, root.at('events.jsonl'))).toMatchObject({
      appended: 3,
      rows_written: 0,
      skipped: { noise: 1, torn: 1, invalid: 0 },
    });
    expect((await eventsOf(ledger)).map(({ type }) => type)).toEqual([
      'run.started',
      'run.settled',
      'run.started',
    ]);
    expect(await importInto(ledger, root.at('events.jsonl'))).toMatchObject({ appended: 0, duplicates: 3 });
  });

  test('that is empty, or ends in the middle of a line, gives what there is', async () => {
    const root = foreignRoot();
    const ledger = await emptyLedger();
    for (const [text, torn] of [
      ['', 0],
      ['\n \n', 0],
      ['{"type":"run.sta', 1],
    ] as const) {
      root.put('events.jsonl', text);
      expect(await importInto(ledger, root.at('events.jsonl'))).toMatchObject({
        appended: 0,
        skipped: { noise: 0, torn, invalid: 0 },
      });
    }
  });
});

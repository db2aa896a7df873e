import { mkdirSync, readFileSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { answersOf, freshAnswers, openIds } from '../support/answers.ts';
import { collect } from '../support/collect.ts';
import { openCounted } from '../support/counted-ledger.ts';
import { foreignRoot, noiseRow, settleRow, startRow } from '../support/foreign-root.ts';

describe('a log that others write', () => {
  test('F3: a row counts when its newline arrives, and once', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    const { ledger } = await openCounted(root);
    const row = JSON.stringify(settleRow('run-1', 't-1'));

    root.append(row.slice(0, 40));
    expect(await openIds(ledger)).toEqual(['run-1']);
    root.append(row.slice(40));
    expect(await openIds(ledger)).toEqual(['run-1']);
    root.append('\n');

    expect(await openIds(ledger)).toEqual([]);
    expect(await collect(ledger.read({ type: 'run.settled' }))).toHaveLength(1);
  });

  test('F4: what an archive ends with is torn for ever, and told once', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    root.append(JSON.stringify(settleRow('run-1', 't-1')));
    const { ledger, replays } = await openCounted(root);
    await ledger.head();
    root.rotate('events_20260301T010000.jsonl');
    root.rows(startRow('run-2', 't-1'));

    for (let read = 0; read < 2; read += 1) {
      expect(await openIds(ledger)).toEqual(['run-1', 'run-2']);
      const { ok, notes } = await ledger.verify({ rebuild: true });
      expect(ok).toBe(true);
      expect(notes.filter((note) => note.code === 'torn_line')).toMatchObject([
        { file: 'archive/events_20260301T010000.jsonl', line: 2 },
      ]);
    }
    expect(replays()).toBe(1);
  });

  test('F5: a rewrite to the same size is noticed', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 'task-a'), noiseRow());
    const { ledger } = await openCounted(root);
    expect(await ledger.custody.owingTaskIds()).toEqual(['task-a']);

    const path = root.at('logs', 'events.jsonl');
    writeFileSync(path, root.text('logs/events.jsonl').replace('task-a', 'task-b'));
    const later = new Date(Date.now() + 5000);
    utimesSync(path, later, later);

    expect(await ledger.custody.owingTaskIds()).toEqual(['task-b']);
    expect(await answersOf(ledger)).toEqual(await freshAnswers(root));
  });

  test('F6: deleted, inserted and cut segments are noticed, and the answer is always that of a full replay', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    root.rotate('events_20260301T010000.jsonl');
    root.rows(startRow('run-2', 't-2'));
    root.rotate('events_20260301T020000.jsonl');
    root.rows(startRow('run-3', 't-3'), startRow('run-4', 't-4'));
    const { ledger } = await openCounted(root);
    expect(await openIds(ledger)).toEqual(['run-1', 'run-2', 'run-3', 'run-4']);
    const { incarnation } = await ledger.head();

    rmSync(root.at('archive', 'events_20260301T010000.jsonl'));
    expect(await openIds(ledger)).toEqual(['run-2', 'run-3', 'run-4']);
    expect((await ledger.head()).incarnation).not.toBe(incarnation);
    expect(await answersOf(ledger)).toEqual(await freshAnswers(root));

    root.put('archive/events_20000101T000000.jsonl', `${JSON.stringify(startRow('run-0', 't-0'))}\n`);
    expect(await openIds(ledger)).toEqual(['run-0', 'run-2', 'run-3', 'run-4']);
    expect(await answersOf(ledger)).toEqual(await freshAnswers(root));

    truncateSync(root.at('logs', 'events.jsonl'), JSON.stringify(startRow('run-3', 't-3')).length + 1);
    expect(await openIds(ledger)).toEqual(['run-0', 'run-2', 'run-3']);
    root.put('logs/events.jsonl', '');
    expect(await openIds(ledger)).toEqual(['run-0', 'run-2']);
    expect(await answersOf(ledger)).toEqual(await freshAnswers(root));
  });

  test('F6: a log that was cut and grew beyond its old size is another log', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    const { ledger } = await openCounted(root);
    expect(await openIds(ledger)).toEqual(['run-1']);

    root.put('logs/events.jsonl', '');
    root.rows(startRow('run-x', 't-1'), startRow('run-y', 't-1'));

    expect(await openIds(ledger)).toEqual(['run-x', 'run-y']);
  });

  test('F8: an unchanged chain is looked at and not read; growth and rotation are read from where they begin', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'), noiseRow());
    root.rotate('events_20260301T010000.jsonl');
    root.rows(startRow('run-2', 't-1'));
    const { ledger, replays } = await openCounted(root);
    await answersOf(ledger);
    expect(replays()).toBe(1);

    const archived = root.at('archive', 'events_20260301T010000.jsonl');
    const before = statSync(archived).atimeMs;
    await answersOf(ledger);
    root.rows(settleRow('run-1', 't-1'));
    await answersOf(ledger);
    root.rotate('events_20260301T020000.jsonl');
    root.rows(settleRow('run-2', 't-1'));
    expect(await openIds(ledger)).toEqual([]);

    expect(replays()).toBe(1);
    expect(statSync(archived).atimeMs).toBe(before);
    expect(await answersOf(ledger)).toEqual(await freshAnswers(root));
  });

  test('F9: what a caller does to an answer changes no other', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1', { resource_ref: { strategy: 'copy' } }));
    const { ledger } = await openCounted(root);

    const run = (await ledger.custody.run('run-1')) as unknown as {
      task_id: string;
      resource_ref: { strategy: string };
    };
    run.task_id = 'stolen';
    run.resource_ref.strategy = 'none';

    expect(await ledger.custody.run('run-1')).toMatchObject({
      task_id: 't-1',
      resource_ref: { strategy: 'copy' },
    });
  });

  test('F12: a start and its end are one story across segments', async () => {
    const root = foreignRoot();
    const request = {
      ts: '2026-03-01T00:00:00Z',
      type: 'delegate_run_start_requested',
      invocation_id: 'inv-1',
      task_id: 't-1',
      request: { prompt: 'p' },
    };
    root.rows(startRow('run-1', 't-1'), request);
    root.rotate('events_20260301T010000.jsonl');
    root.rows(settleRow('run-1', 't-1'), startRow('run-2', 't-1', { invocation_id: 'inv-1' }));
    const { ledger } = await openCounted(root);

    expect(await openIds(ledger)).toEqual(['run-2']);
    expect(await ledger.custody.pendingInvocations()).toEqual([]);
  });

  test('a line may come in any spelling and size, and in both dialects', async () => {
    const root = foreignRoot();
    root.append('\r\n\n   \n');
    root.append(`${JSON.stringify(startRow('run-1', 't-1'))}\r\n`);
    root.append(
      `{"state" : "failed", "run_id":"run-1",\t"task_id":"t-1", "type" :  "run.settled", "at":"2026-03-01T00:00:00Z"}\n`,
    );
    root.append(
      Buffer.concat([
        Buffer.from('{"type":"delegate_run_started","run_id":"run-2","task_id":"t-2","note":"'),
        Buffer.from([0xff, 0xfe]),
        Buffer.from('"}\n'),
      ]).toString('latin1'),
    );
    root.rows(
      noiseRow({ text: 'x'.repeat(3_000_000) }),
      startRow('run-3', 't-3', { prompt: 'y'.repeat(2_000_000) }),
    );
    const { ledger } = await openCounted(root);

    expect(await openIds(ledger)).toEqual(['run-2', 'run-3']);
    expect(await ledger.custody.run('run-1')).toMatchObject({ terminal_state: 'failed' });
  });

  test('ruling 1: invalid UTF-8 is replaced when it is read, and its bytes stay', async () => {
    const root = foreignRoot();
    const bytes = Buffer.concat([
      Buffer.from('{"type":"delegate_run_started","run_id":"run-1","task_id":"t-1","note":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}\n'),
    ]);
    mkdirSync(root.at('logs'));
    writeFileSync(root.at('logs', 'events.jsonl'), bytes);
    const { ledger } = await openCounted(root);

    const [event] = await collect(ledger.read());
    expect(event?.event).toMatchObject({ note: '\uFFFD(' });
    await ledger.append([{ type: 'run.settled', run_id: 'run-1', state: 'succeeded' }]);
    expect(readFileSync(root.at('logs', 'events.jsonl')).subarray(0, bytes.length)).toEqual(bytes);
  });
});

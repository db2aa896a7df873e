import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { settled, started } from '../support/events.ts';
import { jsonlRoot, line } from '../support/jsonl-root.ts';
import { eventsOf } from '../support/log.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

const start = (run: string, task = 't-1') => ({ id: `e-${run}`, ...started(run, task) });
const settle = (run: string, more: object = {}) => ({
  id: `s-${run}`,
  ...settled(run),
  task_id: 't-1',
  ...more,
});

const runsOf = async (ledger: Ledger) =>
  (await eventsOf(ledger)).map(({ type, run_id }) => `${type} ${String(run_id)}`);

const tornOf = async (ledger: Ledger) =>
  (await ledger.verify()).notes.flatMap(({ code, file, line: at }) =>
    code === 'torn_line' ? [[file, at]] : [],
  );

describe('B20: a torn last line does not eat the next good one', () => {
  test('B20: cut inside of a character, it keeps its bytes and its own line', async () => {
    const root = jsonlRoot();
    const torn = Buffer.concat([
      Buffer.from('{"id":"e2","type":"run.settled","run_id":"r-1","note":"caf'),
      Buffer.from([0xc3]),
    ]);
    root.write(line(start('r-1')), torn);
    const ledger = await root.open();
    expect(await runsOf(ledger)).toEqual(['run.started r-1']);

    await ledger.append([start('r-3')]);

    const again = await root.open();
    expect(await runsOf(again)).toEqual(['run.started r-1', 'run.started r-3']);
    expect(await tornOf(again)).toEqual([['logs/events.jsonl', 2]]);
    const bytes = readFileSync(root.log);
    expect(bytes.indexOf(Buffer.concat([torn, Buffer.from('\n')]))).toBe(line(start('r-1')).length);
  });

  test('B20: complete but for its newline, it counts as an event exactly once', async () => {
    const root = jsonlRoot();
    root.write(line(start('r-1')), JSON.stringify(settle('r-1')));
    const ledger = await root.open();
    expect(await runsOf(ledger)).toEqual(['run.started r-1']);

    await ledger.append([start('r-3')]);

    const expected = ['run.started r-1', 'run.settled r-1', 'run.started r-3'];
    expect(await runsOf(ledger)).toEqual(expected);
    const again = await root.open();
    expect(await runsOf(again)).toEqual(expected);
    expect(await again.verify({ rebuild: true })).toMatchObject({ ok: true, events: 3, problems: [] });
  });

  test('B20: followed by empty lines, it harms nobody', async () => {
    const root = jsonlRoot();
    root.write(line(start('r-1')), '{"id":"e2","type":"run.settled","run_\n\n\r\n', line(start('r-3')), '\n');
    const ledger = await root.open();

    await ledger.append([start('r-4')]);

    expect(await runsOf(ledger)).toEqual(['run.started r-1', 'run.started r-3', 'run.started r-4']);
    expect(await tornOf(ledger)).toEqual([['logs/events.jsonl', 2]]);
  });
});

test('B21: NUL bytes and a cut line in the middle are no end of the log', async () => {
  const root = jsonlRoot();
  const good = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => line(start(`r-${from + index}`, 't-other'))).join('');
  root.write(
    line(start('r-7')),
    good(11, 20),
    Buffer.alloc(512),
    '\n',
    line(settle('r-7')),
    good(21, 30),
    '{"id":"e21","type":"run.settled","run_id":"r-8","note":"cut he\n',
    good(31, 36),
  );

  const ledger = await root.open();

  expect(await eventsOf(ledger)).toHaveLength(25);
  expect(await ledger.custody.run('r-7')).toMatchObject({ settled: true, terminal_state: 'succeeded' });
  expect(await tornOf(ledger)).toEqual([
    ['logs/events.jsonl', 11],
    ['logs/events.jsonl', 22],
  ]);
  // Reader and tail agree on what came last.
  expect((await eventsOf(ledger)).at(-1)).toMatchObject({ run_id: 'r-35' });
});

test('B21: NUL bytes before a whole row on the same line cost that line only', async () => {
  const root = jsonlRoot();
  root.write(line(start('r-1')), Buffer.alloc(300), line(settle('r-1')), line(start('r-2')));

  const ledger = await root.open();

  expect(await runsOf(ledger)).toEqual(['run.started r-1', 'run.started r-2']);
  expect(await tornOf(ledger)).toEqual([['logs/events.jsonl', 2]]);
});

test('B23: a line ends at a newline only: U+2028, U+2029, NEL, FF and CR stay inside of their string', async () => {
  const root = jsonlRoot();
  const note = 'left\u2028middle\u2029right\u0085next\u000bvertical\fform\r';
  root.write(line(start('r-1')), line(settle('r-1', { note })), line(start('r-2')));
  expect(readFileSync(root.log, 'utf8')).toContain('\u2028');
  const ledger = await root.open();
  expect((await eventsOf(ledger)).map((event) => event['note'])).toEqual([undefined, note, undefined]);

  // Rotated, rebuilt, and written by ourselves, it is the same.
  renameSync(root.log, join(root.archive, 'events_20260301T000000.jsonl'));
  await ledger.append([settle('r-2', { note })]);

  expect((await eventsOf(ledger, 'run.settled')).map((event) => event['note'])).toEqual([note, note]);
  expect(await ledger.verify({ rebuild: true })).toMatchObject({
    ok: true,
    events: 4,
    problems: [],
    notes: [],
  });
});

describe('B103: a large line is one line', () => {
  test('B103: large and small events of one tick stand on lines of their own', async () => {
    const root = jsonlRoot();
    const ledger = await root.open();
    await ledger.append([start('r-2'), start('r-3')]);

    await Promise.all([
      ledger.append([settle('r-2', { result: 'x'.repeat(700 * 1024) })]),
      ledger.append([settle('r-3')]),
      ledger.append([start('r-4')]),
    ]);

    const lines = root.lines();
    expect(lines.at(-1)).toBe('');
    const ids = lines.slice(0, -1).map((text) => (JSON.parse(text) as { id: string }).id);
    expect(ids).toEqual(['e-r-2', 'e-r-3', 's-r-2', 's-r-3', 'e-r-4']);
  });

  test('B103: the stump of a write that died midway is set aside, and never joined with what follows', async () => {
    const root = jsonlRoot();
    const large = line(settle('r-2', { result: 'x'.repeat(700 * 1024) }));
    root.write(line(start('r-2')), large.slice(0, 524_288));
    const ledger = await root.open();

    await ledger.append([start('r-5'), settle('r-5')]);

    expect(await runsOf(ledger)).toEqual(['run.started r-2', 'run.started r-5', 'run.settled r-5']);
    expect(await ledger.custody.run('r-2')).toMatchObject({ settled: false });
    expect(await tornOf(ledger)).toEqual([['logs/events.jsonl', 2]]);
  });

  test('B47: a line beyond every limit of a foreign log is passed over, told of, and costs nothing around it', async () => {
    const root = jsonlRoot();
    root.write(
      line(start('r-1')),
      line(settle('r-1', { note: 'x'.repeat(17 * 1_048_576) })),
      line(start('r-2')),
    );

    const ledger = await root.open();

    expect(await runsOf(ledger)).toEqual(['run.started r-1', 'run.started r-2']);
    expect((await ledger.verify()).notes).toMatchObject([
      { code: 'long_line', file: 'logs/events.jsonl', line: 2 },
    ]);
  });
});

describe('12.3: what was torn stays torn, and is never lost', () => {
  test('12.3 #586: repairs one after the other glue nothing and truncate nothing', async () => {
    const root = jsonlRoot();
    root.write(line(start('r-1')), '{"id":"e2","ty');
    await (await root.open()).append([start('r-2')]);
    root.append('{"id":"e4","type":"run.sett');
    await (await root.open()).append([start('r-3')]);

    const ledger = await root.open();
    expect(await runsOf(ledger)).toEqual(['run.started r-1', 'run.started r-2', 'run.started r-3']);
    expect(await tornOf(ledger)).toEqual([
      ['logs/events.jsonl', 2],
      ['logs/events.jsonl', 4],
    ]);
    expect(
      root.lines().filter((text) => text.startsWith('{"id":"e2","ty') || text.startsWith('{"id":"e4"')),
    ).toHaveLength(2);
  });

  test('12.4: a torn tail never makes a start fail, and damage to the first line retires nothing', async () => {
    const root = jsonlRoot();
    root.write('\u0000\u0000garbage{{{\n', line(start('r-1')), line(settle('r-1')), '{"type":"run.st');
    const ledger = await root.open();
    await putRow(ledger, failedRow('t-1', ['r-1']));

    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: ['t-1'], failed: [] });
    expect(await listOf(ledger, 't-1')).toEqual([]);
    expect(root.lines()[0]).toBe('\u0000\u0000garbage{{{');
  });

  test('12.4: the heads of the chain survive a head that was cut', async () => {
    const root = jsonlRoot();
    const heads = join(root.path, 'state', 'custody.heads.jsonl');
    const ledger = await root.open();
    await ledger.append([start('r-1')]);
    writeFileSync(heads, '{"seq":2,"ha', { flag: 'a' });

    await ledger.append([settle('r-1')]);

    expect(await ledger.verify()).toMatchObject({ ok: true, events: 2, problems: [] });
    const whole = readFileSync(heads, 'utf8')
      .split('\n')
      .filter((text) => text.endsWith('}'));
    expect(whole.map((text) => (JSON.parse(text) as { seq: number }).seq)).toEqual([1, 2]);
  });
});

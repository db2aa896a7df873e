import { createHash } from 'node:crypto';
import {
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { openLedger } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { openIds } from '../support/answers.ts';
import { collect } from '../support/collect.ts';
import { settled, started } from '../support/events.ts';
import type { ForeignRoot } from '../support/foreign-root.ts';
import { foreignRoot, noiseRow, settleRow, startRow } from '../support/foreign-root.ts';
import { eventsOf } from '../support/log.ts';
import { manualClock } from '../support/manual-clock.ts';

const linesOf = (root: ForeignRoot) =>
  root
    .text('logs/events.jsonl')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('the dialect that is written', () => {
  test('is custody in an empty root: an envelope of its own, nothing that a reader could not do without', async () => {
    const root = foreignRoot();
    const ledger = await root.open({ clock: manualClock() });

    await ledger.append([started('run-1', 't-1', { id: 'e-1', at: '2026-02-01T00:00:00+01:00' })]);

    expect(linesOf(root)).toEqual([
      {
        id: 'e-1',
        type: 'run.started',
        at: '2026-01-31T23:00:00.000Z',
        recorded_at: '2026-03-01T00:00:00.000Z',
        task_id: 't-1',
        run_id: 'run-1',
        route: 'claude',
      },
    ]);
  });

  test('is that of the rows already there', async () => {
    const root = foreignRoot();
    root.rows(noiseRow(), startRow('run-1', 't-1'), noiseRow());
    const ledger = await root.open({ clock: manualClock() });

    await ledger.append([
      { type: 'run.settled', run_id: 'run-1', state: 'failed' },
      started('run-2', 't-2', { id: 'e-2' }),
    ]);

    expect(linesOf(root).slice(-2)).toEqual([
      {
        ts: '2026-03-01T00:00:00.000Z',
        type: 'delegate_run_settled',
        run_id: 'run-1',
        task_id: 't-1',
        state: 'failed',
      },
      {
        ts: '2026-03-01T00:00:00.000Z',
        type: 'delegate_run_started',
        id: 'e-2',
        run_id: 'run-2',
        task_id: 't-2',
        route: 'claude',
      },
    ]);
  });

  test('is that of the URL before all', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    const custody = await root.open({ dialect: 'custody' });
    await custody.append([settled('run-1')]);
    const ouroboros = await root.open({ dialect: 'ouroboros' });
    await ouroboros.append([started('run-2', 't-1')]);

    expect(linesOf(root).map((row) => row['type'])).toEqual([
      'delegate_run_started',
      'run.settled',
      'delegate_run_started',
    ]);
    expect(await openIds(custody)).toEqual(['run-2']);
  });

  test('a repeated id is one event in the custody dialect, and a row of its own in the other', async () => {
    const custody = foreignRoot();
    custody.rows(
      { id: 'e-1', type: 'run.started', at: '2026-03-01T00:00:00Z', run_id: 'run-1', task_id: 't-1' },
      { task_id: 't-1', id: 'e-1', type: 'run.started', at: '2026-03-01T00:00:00.000Z', run_id: 'run-1' },
      { id: 'e-1', type: 'run.started', at: '2026-03-01T00:00:00Z', run_id: 'run-other', task_id: 't-1' },
    );
    const ledger = await custody.open();
    expect(await openIds(ledger)).toEqual(['run-1']);
    expect(await ledger.verify()).toMatchObject({
      ok: false,
      events: 1,
      problems: [{ code: 'event_id_conflict', file: 'logs/events.jsonl', line: 3, seq: 1 }],
    });

    const ouroboros = foreignRoot();
    ouroboros.rows(
      startRow('run-1', 't-1', { id: 'e-1' }),
      startRow('run-1', 't-1', { id: 'e-1' }),
      startRow('run-2', 't-1', { id: 'e-1' }),
    );
    const other = await ouroboros.open();
    expect(await openIds(other)).toEqual(['run-1', 'run-2']);
    expect(new Set((await eventsOf(other)).map((event) => event.id)).size).toBe(3);
    expect(await other.verify()).toMatchObject({ ok: true, events: 3 });
  });
});

describe('an append to a log of lines', () => {
  test('V5: begins on a line of its own; the torn row keeps its bytes and is told of', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    const torn = JSON.stringify(settleRow('run-1', 't-1')).slice(0, 50);
    root.append(torn);
    const ledger = await root.open();

    await ledger.append([started('run-2', 't-1')]);

    expect(root.text('logs/events.jsonl').split('\n')[1]).toBe(torn);
    expect(await openIds(ledger)).toEqual(['run-1', 'run-2']);
    expect((await ledger.verify()).notes).toMatchObject([
      { code: 'torn_line', file: 'logs/events.jsonl', line: 2 },
    ]);
  });

  test('V5: a last row that lacked only its newline is there from then on, before ours', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    root.append(JSON.stringify(settleRow('run-1', 't-1')));
    const ledger = await root.open();
    expect(await openIds(ledger)).toEqual(['run-1']);

    const result = await ledger.append([started('run-2', 't-1')]);

    expect(result).toMatchObject({ first_seq: 3, last_seq: 3 });
    expect((await eventsOf(ledger)).map((event) => [event.seq, event.type])).toEqual([
      [1, 'run.started'],
      [2, 'run.settled'],
      [3, 'run.started'],
    ]);
  });

  test('12.3: cut at any byte of its last three lines, a log loses what was cut, and takes the next row', async () => {
    const master = foreignRoot();
    const writer = await master.open({ clock: manualClock() });
    const events = [
      started('run-0', 't-1'),
      started('run-1', 't-1'),
      started('run-2', 't-1'),
      started('run-3', 't-1'),
    ];
    for (const [index, event] of events.entries()) await writer.append([{ ...event, id: `e-${index}` }]);
    const text = master.text('logs/events.jsonl');
    const root = foreignRoot();
    root.put('logs/events.jsonl', '');
    const ledger = await root.open();

    for (let size = text.indexOf('\n') + 1; size <= text.length; size += 1) {
      root.put('logs/events.jsonl', text.slice(0, size));
      const whole = text.slice(0, size).split('\n').length - 1;
      expect(await openIds(ledger)).toEqual(['run-0', 'run-1', 'run-2', 'run-3'].slice(0, whole));

      await ledger.append(events.map((event, index) => ({ ...event, id: `e-${index}` })));

      expect(await openIds(ledger)).toEqual(['run-0', 'run-1', 'run-2', 'run-3']);
      expect((await eventsOf(ledger)).map((event) => event.id)).toEqual(['e-0', 'e-1', 'e-2', 'e-3']);
    }
  });

  test('ruling 13: waits two seconds for the lock of the log’s owner and then gives up', async () => {
    const root = foreignRoot();
    const ledger = await root.open();
    await ledger.append([started('run-1', 't-1')]);
    const before = root.text('logs/events.jsonl');
    const lock = lockOf(root);
    writeFileSync(lock, `pid=${process.pid} ts=1`);

    await expect(ledger.append([settled('run-1')])).rejects.toMatchObject({
      code: 'busy',
      facts: { path: lock },
    });
    expect(root.text('logs/events.jsonl')).toBe(before);
    expect(readFileSync(lock, 'utf8')).toBe(`pid=${process.pid} ts=1`);
    expect(await openIds(ledger)).toEqual(['run-1']);

    const longAgo = new Date(Date.now() - 11_000);
    writeFileSync(lock, 'pid=2147483646 ts=1');
    utimesSync(lock, longAgo, longAgo);
    expect(await ledger.append([settled('run-1')])).toMatchObject({ appended: 1 });
    expect(readdirSync(root.at('logs'))).toEqual(['events.jsonl']);
  });

  test('is refused whole, and writes nothing, when the log can’t be written', async () => {
    const root = foreignRoot();
    root.put('logs', 'a file where the folder would be');
    const ledger = await root.open();

    await expect(ledger.append([started('run-1', 't-1')])).rejects.toMatchObject({ code: 'log_unreadable' });
    expect(await ledger.custody.isReadable()).toBe(false);
  });

  test('is covered by a head, so that no line before it can be changed, added or removed unseen', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'), noiseRow(), startRow('run-2', 't-1'));
    const ledger = await root.open();
    await ledger.append([settled('run-1')]);
    await ledger.append([settled('run-2')]);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, events: 4 });
    const text = root.text('logs/events.jsonl');
    const [first, noise, ...rest] = text.split('\n');

    const tampered: Readonly<Record<string, string>> = {
      changed: text.replace('"run-2"', '"run-X"'),
      removed: [first, noise, ...rest.slice(1)].join('\n'),
      added: [first, first, noise, ...rest].join('\n'),
      cut: text.slice(0, text.lastIndexOf('{')),
    };
    for (const [how, content] of Object.entries(tampered)) {
      root.put('logs/events.jsonl', content);
      const { ok, problems } = await ledger.verify();
      expect({ how, ok, codes: problems.map((problem) => problem.code).length > 0 }).toEqual({
        how,
        ok: false,
        codes: true,
      });
    }
    root.put('logs/events.jsonl', [first, '{"type":"other"}', noise, ...rest].join('\n'));
    expect(await ledger.verify()).toMatchObject({ ok: true });
  });
});

describe('rotation', () => {
  const big = { x_text: 'x'.repeat(420_000) };

  test('moves a full log of our own aside before the next append, in order and without a gap', async () => {
    const root = foreignRoot();
    const clock = manualClock('2026-03-01T12:00:00.000Z');
    const ledger = await root.open({ clock });
    for (let index = 0; index < 6; index += 1) await ledger.append([started(`run-${index}`, 't-1', big)]);

    expect(readdirSync(root.at('archive'))).toEqual([
      'events_20260301T120000.jsonl',
      'events_20260301T120000_1.jsonl',
    ]);
    expect(statSync(root.at('logs', 'events.jsonl')).size).toBeGreaterThan(800_000);
    expect(await openIds(ledger)).toEqual([0, 1, 2, 3, 4, 5].map((index) => `run-${index}`));
    expect((await collect(ledger.read())).map(({ event }) => event.seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, events: 6 });

    const other = await openLedger(root.url, { readOnly: true });
    expect((await other.head()).hash).toBe((await ledger.head()).hash);
    await other.close();
  });

  test('is left to the owner of a log that is not ours', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1', { prompt: 'y'.repeat(900_000) }));
    const ledger = await root.open({ dialect: 'custody' });

    await ledger.append([settled('run-1')]);
    await ledger.append([started('run-2', 't-1')]);

    expect(readdirSync(root.path).includes('archive')).toBe(false);
  });

  test('by its owner between two appends of ours loses nothing', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    const ledger = await root.open();
    await ledger.append([started('run-2', 't-1')]);
    root.rotate('events_20260301T010000.jsonl');
    const { events } = await ledger.append([started('run-3', 't-1')]);

    expect(await openIds(ledger)).toEqual(['run-1', 'run-2', 'run-3']);
    expect((await eventsOf(ledger)).at(-1)?.id).toBe(events[0]?.id);
    expect(root.text('logs/events.jsonl').split('\n')).toHaveLength(2);
  });

  test('by its owner, killed before the new file was made, is finished by the next append', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    const ledger = await root.open();
    await ledger.head();
    root.rotate('events_20260301T010000.jsonl');
    rmSync(root.at('logs', 'events.jsonl'));

    expect(await openIds(ledger)).toEqual(['run-1']);
    await ledger.append([settled('run-1')]);
    expect(await openIds(ledger)).toEqual([]);
  });
});

function lockOf(root: ForeignRoot): string {
  const log = realpathSync(root.at('logs', 'events.jsonl'));
  return root.at('logs', `.append_jsonl_${createHash('sha256').update(log).digest('hex').slice(0, 12)}.lock`);
}

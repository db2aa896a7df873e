import type { JsonObject, Ledger, NewEvent } from '@custody/ledger';
import { compareCodePoints, InvalidEventError } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { cliBench, shaped, toLines, withoutMoment } from '../support/cli.ts';
import { ERROR_SCHEMA } from '../support/cli-schemas.ts';
import { settled, started } from '../support/events.ts';
import { jsonlRoot, line } from '../support/jsonl-root.ts';
import { eventsOf } from '../support/log.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

async function refusal(ledger: Ledger, event: unknown): Promise<unknown> {
  const error: unknown = await ledger.append([event as NewEvent]).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InvalidEventError);
  return error;
}

const PROTOTYPE_NAMES = [
  'constructor',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'isPrototypeOf',
  'prototype',
];

describe.each(STORES)('values that others lost, on $name', ({ open }) => {
  test('B24: a character that some stores can’t keep is refused by field everywhere, and the event without it is taken', async () => {
    const { ledger } = await open();
    await ledger.append([started('r-1', 't-1')]);

    expect(await refusal(ledger, settled('r-1', { note: 'W\u0000s\u0000l' }))).toMatchObject({
      field: 'note',
    });
    expect(await refusal(ledger, settled('r-1', { note: 'end \ud83d' }))).toMatchObject({ field: 'note' });

    // Six visible characters are no NUL.
    await ledger.append([settled('r-1', { note: 'six visible: \\u0000' })]);
    expect((await eventsOf(ledger, 'run.settled'))[0]).toMatchObject({ note: 'six visible: \\u0000' });
    expect(await ledger.custody.run('r-1')).toMatchObject({ settled: true, terminal_state: 'succeeded' });
  });

  test('B26: ids that are names of Object’s own are ids like any other', async () => {
    const { ledger } = await open();
    const reconciler = createReconciler(ledger);
    await ledger.append(PROTOTYPE_NAMES.flatMap((name) => [started(name, name)]));
    for (const name of PROTOTYPE_NAMES) await putRow(ledger, failedRow(name, [name]));
    await ledger.append(
      PROTOTYPE_NAMES.map((name) =>
        settled(name, { id: name, state: name === 'constructor' ? 'failed' : 'succeeded' }),
      ),
    );
    await ledger.append([settled('toString-2', { task_id: 'not-there' })]);

    expect(await reconciler.sweep()).toMatchObject({
      refreshed: [...PROTOTYPE_NAMES].sort(compareCodePoints),
      deferred: ['not-there'],
      failed: [],
    });

    const custodies = await ledger.custody.tasks(PROTOTYPE_NAMES);
    expect(new Set(custodies.keys())).toEqual(new Set(PROTOTYPE_NAMES));
    expect(await ledger.custody.run('constructor')).toMatchObject({ terminal_state: 'failed' });
    expect(await ledger.custody.run('valueOf')).toMatchObject({
      terminal_state: 'succeeded',
      task_id: 'valueOf',
    });
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });

  test('B26: __proto__ is no id and no key, wherever it stands; the empty id and one of 300 characters are refused', async () => {
    const { ledger } = await open();

    expect(await refusal(ledger, started('r-p', '__proto__'))).toMatchObject({ field: 'task_id' });
    expect(await refusal(ledger, started('r-e', ''))).toMatchObject({ field: 'task_id' });
    expect(await refusal(ledger, started('r-l', 't'.repeat(300)))).toMatchObject({ field: 'task_id' });
    const payload = JSON.parse('{"__proto__":{"state":"succeeded"}}') as JsonObject;
    expect(await refusal(ledger, started('r-1', 't-1', { payload }))).toMatchObject({
      field: 'payload.__proto__',
    });

    expect(await ledger.head()).toMatchObject({ seq: 0 });
    expect(({} as Record<string, unknown>)['state']).toBeUndefined();
  });

  test('B25: two ids that JavaScript would fold into one number are refused as numbers and kept apart as texts', async () => {
    const { ledger } = await open();

    const folded = JSON.parse('{"type":"run.started","task_id":"t-1","run_id":9007199254740993}') as NewEvent;
    expect(await refusal(ledger, folded)).toMatchObject({ field: 'run_id' });

    await ledger.append([started('9007199254740992', 't-1'), started('9007199254740993', 't-1')]);
    await ledger.append([settled('9007199254740993')]);
    expect(await createReconciler(ledger).audit(['t-1'])).toMatchObject({
      tasks: [{ audit: { open_run_ids: ['9007199254740992'] } }],
    });
  });

  test('B47: an outcome is stored with a large note, and refused as a whole beyond the limit, which the text names', async () => {
    const { ledger } = await open();
    await ledger.append(['r-1', 'r-2', 'r-3', 'r-4'].map((run) => started(run, 't-1')));

    await ledger.append([
      settled('r-1', { note: 'x'.repeat(7000) }),
      settled('r-2', { note: 'x'.repeat(8000) }),
    ]);
    await ledger.append([settled('r-3', { note: 'x'.repeat(1_000_000) })]);
    expect(await refusal(ledger, settled('r-4', { note: 'x'.repeat(64 * 1_048_576) }))).toMatchObject({
      code: 'event_too_large',
      message: expect.stringContaining('the limit is 1048576') as unknown,
    });
    expect(
      await refusal(
        ledger,
        settled('r-4', { note: JSON.parse('['.repeat(9000) + ']'.repeat(9000)) as JsonObject }),
      ),
    ).toMatchObject({
      code: 'invalid_event',
      message: expect.stringContaining('nested deeper than 100') as unknown,
    });

    await ledger.append([settled('r-4')]);
    expect(await ledger.custody.totals()).toMatchObject({ runs: 4, open_runs: 0 });
  });

  test('B44: a time without a zone is refused at the door; one with any offset is the same moment', async () => {
    const { ledger } = await open();

    expect(await refusal(ledger, started('r-1', 't-1', { at: '2026-03-01T10:00:20' }))).toMatchObject({
      field: 'at',
    });

    await ledger.append([started('r-1', 't-1', { at: '2026-03-01T15:30:10+05:30' })]);
    expect((await eventsOf(ledger))[0]).toMatchObject({ at: '2026-03-01T10:00:10.000Z' });
  });

  test('B44: a time in the future delays nothing: what counts is the order of the log', async () => {
    const { ledger } = await open();
    await ledger.append([started('r-1', 't-1', { at: '2099-01-01T00:00:00Z' })]);
    await putRow(ledger, failedRow('t-1', ['r-1']));
    await ledger.append([settled('r-1', { at: '1999-01-01T00:00:00Z' })]);

    expect(await createReconciler(ledger).sweep()).toMatchObject({ refreshed: ['t-1'] });
    expect(await listOf(ledger, 't-1')).toEqual([]);
  });
});

describe('values that foreign programs wrote into a log', () => {
  test('B24 and B26: what can’t be kept is replaced, what it stands in is folded, and the file stays as it is', async () => {
    const root = jsonlRoot('ouroboros');
    const row = (type: string, rest: string) => `{"ts":"2026-03-01T00:00:00Z","type":"${type}",${rest}}\n`;
    root.write(
      row('delegate_run_started', '"run_id":"r-1","task_id":"t-1"'),
      row(
        'delegate_run_settled',
        '"run_id":"r-1","task_id":"t-1","state":"failed","note":"W\\u0000l \\ud83d","x":{"__proto__":{"state":"succeeded"}}',
      ),
      row('delegate_run_started', '"run_id":"__proto__","task_id":"__proto__"'),
      row('delegate_run_settled', '"run_id":"__proto__","task_id":"__proto__","state":"succeeded"'),
      row('delegate_run_started', '"run_id":9007199254740993,"task_id":"t-1"'),
    );
    const bytes = root.lines().join('\n');
    const ledger = await root.open();
    await putRow(ledger, failedRow('t-1', ['r-1']));

    expect(await createReconciler(ledger).sweep()).toMatchObject({
      refreshed: ['t-1'],
      deferred: ['__proto__'],
      failed: [],
    });
    expect(await createReconciler(ledger).sweep()).toMatchObject({
      refreshed: [],
      deferred: ['__proto__'],
      failed: [],
    });

    expect(await ledger.custody.run('r-1')).toMatchObject({ terminal_state: 'failed' });
    expect(await ledger.custody.run('__proto__')).toMatchObject({ settled: true });
    expect(({} as Record<string, unknown>)['state']).toBeUndefined();
    expect(root.lines().join('\n').startsWith(bytes)).toBe(true);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });

  test('B44: a time without a zone is UTC, whatever the zone of the reader', async () => {
    const bench = cliBench();
    const root = jsonlRoot('ouroboros');
    root.write(
      line({ ts: '2026-03-01T10:00:20', type: 'delegate_run_started', run_id: 'r-1', task_id: 't-1' }),
    );

    const answers = await Promise.all(
      ['Asia/Kolkata', 'America/Los_Angeles', 'UTC'].map((TZ) =>
        bench.json(['-s', `jsonl:${root.path}`, 'audit', '--all'], { env: { TZ } }),
      ),
    );

    expect(new Set(answers.map((answer) => withoutMoment(JSON.stringify(answer)))).size).toBe(1);
    expect(answers[0]?.value).toMatchObject({
      totals: { oldest_unreconciled_at: '2026-03-01T10:00:20.000Z' },
    });
  });
});

describe('values on the command line', () => {
  test('B25: a number that no double holds is refused with its line and field, never rounded', async () => {
    const bench = cliBench();
    await bench.run(['init']);
    const stdin = `${toLines(started('r-1', 't-1'))}{"type":"run.settled","run_id":"r-1","state":"failed","cost_micros":9007199254740993}\n`;

    const { code, value } = await bench.json(['event', 'append', '--atomic'], { stdin });

    const { error } = shaped(ERROR_SCHEMA, value);
    expect({ exit: code, ...error }).toMatchObject({
      exit: 2,
      code: 'invalid_event',
      field: 'cost_micros',
      line: 2,
    });
    expect(await bench.lines(['event', 'list'])).toEqual([]);
  });

  test('B25: the numbers of a row come back as they were written', async () => {
    const bench = cliBench();
    const row = '{"task_id":"t-1","status":"failed","big":9007199254740993,"exact":1.10,"huge":1e400}';

    expect((await bench.run(['task', 'put'], { stdin: `${row}\n` })).code).toBe(0);
    await bench.run(['backfill']);

    const { stdout } = await bench.run(['--json', 'task', 'get', 't-1']);
    expect(stdout.replaceAll(/\s/g, '')).toContain('"big":9007199254740993,"exact":1.10,"huge":1e400');
  });

  test('B23 and B24: what a terminal would take as a command is shown, not sent', async () => {
    const bench = cliBench();
    await bench.run(['event', 'append'], { stdin: toLines({ ...started('r-1', 't-1'), note: 'x' }) });
    await bench.run(['task', 'put'], {
      stdin: toLines({ task_id: 't-1', status: '\u001b[2Jfailed\u202e\u2028' }),
    });

    const { stdout } = await bench.run(['audit', '--all']);

    for (const character of ['\u001b', '\u202e', '\u2028']) expect(stdout).not.toContain(character);
  });
});

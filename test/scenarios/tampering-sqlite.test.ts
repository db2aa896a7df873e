import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { openLedger, parseTaskRow } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { anyHistory } from '../support/event-arbitrary.ts';
import { settled, started } from '../support/events.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';
import { signingKeys } from '../support/signing-keys.ts';
import type { Tampering } from '../support/tamper-sqlite.ts';
import { tamper } from '../support/tamper-sqlite.ts';
import { failedRow } from '../support/terminal-rows.ts';

const RUNS = process.env['CUSTODY_TEST_LONG'] === undefined ? 100 : 2000;
const KEYS = signingKeys();

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'custody-tamper-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** The file, by the hash of its bytes, and whether there is something to be folded into it. */
function bytesOf(path: string): unknown {
  const pending = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return { file: createHash('sha256').update(readFileSync(path)).digest('hex'), pending };
}

/** Three events that belong together, behind whatever history there is: enough room for every kind of tampering. */
async function fill(ledger: Ledger, history: Parameters<Ledger['append']>[0]): Promise<void> {
  await Promise.allSettled(history.map((event) => ledger.append([event])));
  await ledger.append([started('last-1', 't-1'), started('last-2', 't-1'), settled('last-1')]);
}

const tamperings: fc.Arbitrary<(events: number) => Tampering> = fc.oneof(
  fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 255 })).map(
    ([at, byte, mask]) =>
      (events: number): Tampering => ({ kind: 'flip', at: (at % events) + 1, byte, mask }),
  ),
  fc.tuple(fc.constantFrom('remove', 'insert', 'swap', 'truncate', 'rewrite'), fc.nat()).map(
    ([kind, at]) =>
      (events: number): Tampering => ({ kind, at: (at % (events - 1)) + 1 }),
  ),
);

describe('tampering with a SQLite store', () => {
  test('P2: any flipped byte, and any removed, inserted, swapped, cut or rewritten event is named with its place, and no byte is changed by looking', async () => {
    let place = 0;
    const found = { flip: 0, remove: 0, insert: 0, swap: 0, truncate: 0, rewrite: 0 };
    await fc.assert(
      fc.asyncProperty(anyHistory, tamperings, async (history, choose) => {
        place += 1;
        const path = join(directory, `${place}.db`);
        const ledger = await openLedger(`sqlite:${path}`);
        await fill(ledger, history);
        const checkpoint = await ledger.takeCheckpoint({ privateKey: KEYS.privateKey });
        const { seq, hash } = await ledger.head();
        await ledger.close();
        const tampering = choose(seq);

        const expected = tamper(path, tampering);

        const before = bytesOf(path);
        await using looking = await openLedger(`sqlite:${path}`, { readOnly: true });
        const report = await looking.verify({ expectHead: { seq, hash } });
        const signed = await looking.verify({ proof: { checkpoint, publicKey: KEYS.publicKey } });
        await looking.close();
        expect({ tampering, ok: report.ok, seq: report.problems[0]?.seq }).toEqual({
          tampering,
          ok: false,
          // A log that was made anew from one event on is right in itself; what was noted of it is not.
          seq: tampering.kind === 'rewrite' ? seq : expected,
        });
        expect(signed.ok).toBe(false);
        expect(bytesOf(path)).toEqual(before);
        found[tampering.kind] += 1;
        for (const name of [path, `${path}-wal`, `${path}-shm`]) rmSync(name, { force: true });
      }),
      { numRuns: RUNS },
    );
    // Each kind was tried.
    expect(Object.values(found).every((count) => count > 0)).toBe(true);
  });

  test('P2: without a head from elsewhere, a cut log is whole in itself: that is what the head is for', async () => {
    const path = join(directory, 'cut.db');
    const ledger = await openLedger(`sqlite:${path}`);
    await fill(ledger, []);
    const { seq, hash } = await ledger.head();
    await ledger.close();
    tamper(path, { kind: 'truncate', at: 3 });

    await using looking = await openLedger(`sqlite:${path}`, { readOnly: true });

    expect(await looking.verify()).toMatchObject({ ok: true, events: 2 });
    expect(await looking.verify({ expectHead: { seq, hash } })).toMatchObject({
      problems: [{ code: 'truncated', seq: 2 }],
    });
  });

  /** A store with a healed row, a managed task with all it can have, and debts of every kind. */
  async function richStore(path: string): Promise<void> {
    await using ledger = await openLedger(`sqlite:${path}`);
    await fill(ledger, [
      { type: 'run.start_requested', task_id: 't-1', invocation_id: 'inv-1', request: {} },
      { type: 'containment.fault', run_id: 'last-2', reason: 'r' },
    ]);
    await ledger.append([{ type: 'containment.fault', run_id: 'last-2', reason: 'r' }]);
    await ledger.rows.put([
      parseTaskRow(JSON.stringify(failedRow('t-1', ['gone']))),
      parseTaskRow(JSON.stringify({ task_id: 't-2', status: 'running' })),
    ]);
    await createReconciler(ledger).backfill();
    await ledger.tasks.create({ taskId: 'm-1', title: 'T' });
    await ledger.tasks.create({ taskId: 'm-2', title: 'T', parents: ['m-1'] });
    const run = await ledger.runs.claim({ taskId: 'm-1', holder: 'a' });
    if (run.outcome !== 'claimed') throw new Error('not claimed');
    const held = { taskId: 'm-1', runId: run.run_id, fence: run.fence };
    await ledger.runs.submit({ ...held, idempotencyKey: 'k', value: 'v' });
    await ledger.runs.ask({ ...held, question: 'q?', options: ['a'] });
  }

  const edits: readonly [string, string, Record<string, unknown>][] = [
    ['a record of a run', `update run set is_open = 0 where run_id = 'last-2'`, { code: 'table_mismatch' }],
    ['a record that is no JSON any more', `update run set record = '{'`, { code: 'table_mismatch' }],
    ['a debt', `delete from run where run_id = 'last-2'`, { code: 'table_missing_row' }],
    ['a pending start', `update invocation set is_pending = 0`, { code: 'table_mismatch' }],
    ['a fault', `update containment set is_open = 0`, { code: 'table_mismatch' }],
    [
      'evidence',
      `update run_evidence set record = replace(record, 'succeeded', 'failed')`,
      { code: 'table_mismatch' },
    ],
    ['facts of a task', `update task_facts set last_seq = 1`, { code: 'table_mismatch' }],
    ['a fence', `update lease set fence = fence + 1`, { code: 'table_mismatch' }],
    ['a holder', `update lease set holder = 'b'`, { code: 'table_mismatch' }],
    ['a result that was handed in', `update submission set value = '"w"'`, { code: 'table_mismatch' }],
    ['a question', `update question set is_open = 0`, { code: 'table_mismatch' }],
    ['a link', `delete from task_link`, { code: 'table_missing_row' }],
    [
      'a managed task',
      `update managed_task set status = 'completed' where task_id = 'm-2'`,
      { code: 'table_mismatch' },
    ],
    [
      'the row of a managed task',
      `update task_row set frozen = replace(frozen, '"T"', '"U"') where task_id = 'm-2'`,
      { code: 'table_mismatch', task_id: 'm-2' },
    ],
    [
      'a row that is no JSON any more',
      `update task_row set frozen = '{' where task_id = 'm-2'`,
      { code: 'table_mismatch', task_id: 'm-2' },
    ],
    [
      'what a heal wrote',
      `update task_row set live = replace(live, 'last-2', 'past-2') where task_id = 't-1'`,
      { code: 'row_mismatch', task_id: 't-1' },
    ],
    [
      'the status column of a row',
      `update task_row set status = 'completed' where task_id = 't-1'`,
      { code: 'row_mismatch', task_id: 't-1' },
    ],
    [
      'the mark of a terminal row',
      `update task_row set is_terminal = 0 where task_id = 't-1'`,
      { code: 'row_mismatch', task_id: 't-1' },
    ],
    ['the head', `update ledger_head set seq = seq - 1`, { code: 'head_mismatch' }],
    ['the hash of the head', `update ledger_head set hash = '${'f'.repeat(64)}'`, { code: 'head_mismatch' }],
    [
      'a column of an event',
      `update event set task_id = 't-9' where seq = 1`,
      { code: 'column_mismatch', seq: 1 },
    ],
    [
      'the id of an event',
      `update event set id = 'other' where seq = 2`,
      { code: 'column_mismatch', seq: 2 },
    ],
  ];

  test.each(edits)('V10: %s that was edited is found by --rebuild', async (_what, statement, expected) => {
    const path = join(directory, 'edited.db');
    await richStore(path);
    {
      await using untouched = await openLedger(`sqlite:${path}`, { readOnly: true });
      expect(await untouched.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
    }
    const db = openRawSqlite(path);
    const triggers = db.prepare(`select name, sql from sqlite_master where type = 'trigger'`).all() as {
      name: string;
      sql: string;
    }[];
    for (const { name } of triggers) db.exec(`drop trigger ${name}`);
    const before = JSON.stringify(db.prepare('select * from task_row').all());
    db.exec(statement);
    if (statement.includes('task_row'))
      expect(JSON.stringify(db.prepare('select * from task_row').all())).not.toBe(before);
    for (const { sql } of triggers) db.exec(sql);
    db.close();

    await using looking = await openLedger(`sqlite:${path}`, { readOnly: true });
    const report = await looking.verify({ rebuild: true });

    expect(report.ok).toBe(false);
    expect(report.problems[0]).toMatchObject(expected);
  });

  test('P4: a frozen field that an orchestrator wrote and somebody edited is named by the signed list, with its task', async () => {
    const path = join(directory, 'frozen.db');
    await richStore(path);
    const lines: string[] = [];
    const ledger = await openLedger(`sqlite:${path}`);
    const checkpoint = await ledger.takeCheckpoint({
      privateKey: KEYS.privateKey,
      writeRow: async (line) => void lines.push(line),
    });
    await ledger.close();
    const db = openRawSqlite(path);
    const trigger = db
      .prepare(`select sql from sqlite_master where name = 'frozen_part_is_immutable'`)
      .get() as { sql: string };
    db.exec('drop trigger frozen_part_is_immutable');
    db.exec(`update task_row set frozen = replace(frozen, 'provider', 'Provider') where task_id = 't-1'`);
    db.exec(trigger.sql);
    db.close();
    async function* listed(): AsyncGenerator<string, void> {
      yield* lines;
    }

    await using looking = await openLedger(`sqlite:${path}`, { readOnly: true });

    // The log does not hold what an orchestrator wrote: that is what the list is for.
    expect(await looking.verify({ rebuild: true })).toMatchObject({ ok: true });
    expect(
      await looking.verify({ proof: { checkpoint, publicKey: KEYS.publicKey, frozenRows: listed() } }),
    ).toMatchObject({
      ok: false,
      problems: [
        {
          code: 'frozen_field_changed',
          task_id: 't-1',
          message: expect.stringContaining('reason_code') as string,
        },
      ],
    });
  });

  test('P2, P4: a guard that was taken out, changed or added is named, whatever was done without it', async () => {
    const tries: readonly [string, string][] = [
      ['drop trigger event_is_never_updated', 'the trigger event_is_never_updated is missing'],
      ['drop index event_by_run', 'the index event_by_run is missing'],
      [
        `drop trigger event_is_never_deleted;
         create trigger event_is_never_deleted before delete on event when 1 = 2 begin select 1; end`,
        'the trigger event_is_never_deleted was changed',
      ],
      [
        'create trigger mine after insert on event begin delete from leader; end',
        "the trigger mine is none of the ledger's",
      ],
    ];
    for (const [statement, message] of tries) {
      const path = join(directory, 'guards.db');
      await (await openLedger(`sqlite:${path}`)).close();
      const db = openRawSqlite(path);
      db.exec(statement);
      db.close();
      await using looking = await openLedger(`sqlite:${path}`, { readOnly: true });
      expect(await looking.verify()).toMatchObject({
        ok: false,
        problems: [{ code: 'guard_mismatch', message }],
      });
      await looking.close();
      for (const name of [path, `${path}-wal`, `${path}-shm`]) rmSync(name, { force: true });
    }
  });
});

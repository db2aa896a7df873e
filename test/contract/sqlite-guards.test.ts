import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settled, started } from '../support/events.ts';
import type { RawSqlite } from '../support/raw-sqlite.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';
import { rowOf } from '../support/row.ts';
import type { Attack } from './row-attacks.ts';
import { ROW_ATTACKS } from './row-attacks.ts';
import { snapshotOf } from './snapshot.ts';
import { loadOrFail, updateOf } from './task-rows.contract.ts';

describe('a plain SQL session on a SQLite ledger', () => {
  let directory = '';
  let ledger: Ledger;
  let session: RawSqlite;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'custody-guards-'));
    const path = join(directory, 'custody.db');
    ledger = await openLedger(`sqlite:${path}`);
    await ledger.append([
      { ...started('run-1', 't-1'), id: 'e-1' },
      { ...settled('run-1'), id: 'e-2' },
    ]);
    await ledger.rows.put([
      rowOf('t-1', {
        status: 'failed',
        reason_code: 'provider_unavailable',
        delegated_runs_unreconciled: ['run-1'],
      }),
      rowOf('t-2', { status: 'running' }),
    ]);
    session = openRawSqlite(path);
  });

  afterEach(async () => {
    session.close();
    await ledger.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const NEW_EVENT = `(ledger, seq, id, type, hash, text) values ('main'`;

  it.each<Attack>([
    ...ROW_ATTACKS,
    ['changes the text of an event', `update event set text = '{}' where seq = 1`, /append-only/],
    ['changes any column of an event', `update event set task_id = 't-9' where seq = 2`, /append-only/],
    ['removes the newest event', `delete from event where seq = 2`, /append-only/],
    ['removes every event', `delete from event`, /append-only/],
    ['skips a seq', `insert into event ${NEW_EVENT}, 4, 'e-4', 'x.a', '', '{}')`, /seq/],
    ['writes a seq again', `insert or replace into event ${NEW_EVENT}, 1, 'e-9', 'x.a', '', '{}')`, /seq/],
    [
      'replaces an event by its id',
      `insert or replace into event ${NEW_EVENT}, 3, 'e-1', 'x.a', '', '{}')`,
      /id/,
    ],
    ['replaces an event by an update', `update or replace event set seq = 1 where seq = 2`, /append-only/],
    [
      'makes a terminal row one that is not',
      `update task_row set is_terminal = 0 where task_id = 't-1'`,
      /frozen/,
    ],
    [
      'moves a terminal row to another ledger',
      `update task_row set ledger = 'other' where task_id = 't-1'`,
      /frozen/,
    ],
    [
      'replaces a terminal row',
      `insert or replace into task_row values ('main', 't-1', 'completed', 1, 1, 0, '{}', '{}', '{}')`,
      /row/,
    ],
  ])('is refused when it %s', async (_case, statement, reason) => {
    const before = await snapshotOf(ledger);

    expect(() => session.exec(statement)).toThrow(reason);

    expect(await snapshotOf(ledger)).toEqual(before);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });

  it('may change the live part of a terminal row, as the reconciler does', async () => {
    const loaded = await loadOrFail(ledger.rows, 't-1');

    session.exec(
      `update task_row set live = '{"delegated_runs_unreconciled":[]}', version = version + 1 where task_id = 't-1'`,
    );

    expect((await loadOrFail(ledger.rows, 't-1')).row.value['delegated_runs_unreconciled']).toEqual([]);
    expect(await ledger.rows.update([{ ...updateOf(loaded, 2), live: {} }])).toEqual([
      { outcome: 'changed_meanwhile' },
    ]);
  });

  it.each([
    ['text', `update event set text = replace(text, 'claude', 'codex') where seq = 1`, ['hash_mismatch']],
    ['hash', `update event set hash = 'f' where seq = 1`, ['hash_mismatch']],
    ['task of an event', `update event set task_id = 't-9' where seq = 1`, ['column_mismatch']],
    [
      'text, so that it is no JSON',
      `update event set text = 'x' where seq = 2`,
      ['hash_mismatch', 'not_json'],
    ],
    ['end of the log', `delete from event where seq = 2`, ['head_mismatch', 'table_mismatch']],
    [
      'beginning of the log',
      `delete from event where seq = 1`,
      ['seq_gap', 'hash_mismatch', 'table_mismatch'],
    ],
    [
      'record of a run',
      `update run set record = replace(record, '"settled":true', '"settled":false')`,
      ['table_mismatch'],
    ],
    ['debts of a run', `update run set is_open = 1`, ['table_mismatch']],
    ['list of runs', `delete from run`, ['table_missing_row']],
    ['list of tasks', `insert into task_facts values ('main', 't-x', 9, '{}')`, ['table_extra_row']],
    ['head', `update ledger_head set seq = 1`, ['head_mismatch']],
  ])(
    'is found out by verify when it tore down the guards and changed the %s',
    async (_case, statement, codes) => {
      for (const row of session.prepare(`select name from sqlite_master where type = 'trigger'`).all()) {
        session.exec(`drop trigger ${(row as { name: string }).name}`);
      }

      session.exec(statement);

      const report = await ledger.verify({ rebuild: true });
      expect(report.ok).toBe(false);
      expect([...new Set(report.problems.map((problem) => problem.code))]).toEqual(
        expect.arrayContaining(codes),
      );
    },
  );
});

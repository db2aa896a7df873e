import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { settled, started } from '../support/events.ts';
import { makeSchema, plainSession, takeLedger } from '../support/postgres.ts';
import { rowOf } from '../support/row.ts';
import type { Attack } from './row-attacks.ts';
import { ROW_ATTACKS } from './row-attacks.ts';
import { snapshotOf } from './snapshot.ts';

async function fill(ledger: Ledger): Promise<void> {
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
  await ledger.tasks.create({ taskId: 'm-1', title: 'work' });
  await ledger.runs.claim({ taskId: 'm-1', holder: 'worker' });
}

describe('a plain SQL session on a PostgreSQL ledger', () => {
  const schema = makeSchema();
  let ledger: Ledger;
  let other: Ledger;
  let session: pg.Client;

  // One for all: each of them shows that nothing has changed.
  beforeAll(async () => {
    ledger = await openLedger(schema.url);
    other = await openLedger(`${schema.url}&ledger=Other.one`);
    await fill(ledger);
    await fill(other);
    session = await plainSession();
    await session.query(`set search_path = ${schema.name}`);
  });

  afterAll(async () => {
    await ledger.close();
    await other.close();
    await schema.drop();
  });

  const NEW_EVENT = `(ledger, seq, id, type, hash, text) values ('main'`;

  it.each<Attack>([
    ...ROW_ATTACKS,
    ['changes the text of an event', `update event set text = '{}' where seq = 1`, /append-only/],
    ['changes an event in its partition', `update event__main set text = '{}' where seq = 1`, /append-only/],
    [
      'moves an event to another ledger',
      `update event set ledger = 'x' where ledger = 'main'`,
      /append-only/,
    ],
    ['removes the newest event', `delete from event where ledger = 'main' and seq = 4`, /append-only/],
    ['removes every event', `delete from event`, /append-only/],
    ['removes events in their partition', `delete from event__main`, /append-only/],
    ['empties the log', `truncate event`, /never removed/],
    ['empties the log of one ledger', `truncate event__main`, /never removed/],
    ['skips a seq', `insert into event ${NEW_EVENT}, 9, 'e-9', 'x.a', '', '{}')`, /seq/],
    [
      'skips a seq in the partition',
      `insert into event__main ${NEW_EVENT}, 9, 'e-9', 'x.a', '', '{}')`,
      /seq/,
    ],
    [
      'leaves a gap inside of what it adds',
      `insert into event ${NEW_EVENT}, 5, 'e-5', 'x.a', '', '{}'), ('main', 7, 'e-7', 'x.a', '', '{}')`,
      /seq/,
    ],
    ['writes a seq again', `insert into event ${NEW_EVENT}, 1, 'e-9', 'x.a', '', '{}')`, /unique/],
    ['takes the id of an event', `insert into event ${NEW_EVENT}, 5, 'e-1', 'x.a', '', '{}')`, /unique/],
    [
      'replaces an event',
      `insert into event ${NEW_EVENT}, 1, 'e-1', 'x.a', '', '{}') on conflict (ledger, seq) do update set text = excluded.text`,
      /append-only/,
    ],
    [
      'makes a terminal row one that is not',
      `update task_row__main set is_terminal = 0 where task_id = 't-1'`,
      /frozen/,
    ],
    [
      'moves a terminal row to another ledger',
      `update task_row set ledger = 'Other.one' where task_id = 't-1'`,
      /frozen/,
    ],
    ['empties the rows', `truncate task_row`, /never removed/],
    ['empties the rows of one ledger', `truncate task_row__main cascade`, /never removed/],
    ['gives a lease an older fence', `update lease set fence = fence - 1`, /fence/],
    ['removes a lease', `delete from lease`, /never deleted/],
    ['empties the leases', `truncate lease`, /never removed/],
  ])('is refused when it %s', async (_case, statement, reason) => {
    const before = [await snapshotOf(ledger), await snapshotOf(other)];

    await expect(session.query(statement)).rejects.toThrow(reason);

    expect([await snapshotOf(ledger), await snapshotOf(other)]).toEqual(before);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });

  it('finds two ledgers in one schema that never mix', async () => {
    await other.append([started('run-other', 't-1')]);

    expect(await ledger.custody.run('run-other')).toBeNull();
    expect((await other.custody.tasks(['t-1'])).get('t-1')?.runs.map(({ run_id }) => run_id)).toEqual([
      'run-1',
      'run-other',
    ]);
    await other.tasks.create({ taskId: 'm-2', title: 'more' });
    expect(await ledger.runs.claim({ holder: 'worker' })).toMatchObject({ outcome: 'none' });
    expect(await ledger.tasks.get('m-2')).toBeNull();
    const { rows } = await session.query<{ ledger: string; seq: number }>(
      'select ledger, seq::int as seq from ledger_head order by ledger',
    );
    expect(rows).toEqual([
      { ledger: 'Other.one', seq: 6 },
      { ledger: 'main', seq: 4 },
    ]);
  });
});

describe('a plain SQL session', () => {
  it.each([
    ['text', `update event set text = replace(text, 'claude', 'codex') where seq = 1`, ['hash_mismatch']],
    ['hash', `update event set hash = 'f' where seq = 1`, ['hash_mismatch']],
    ['task of an event', `update event set task_id = 't-9' where seq = 1`, ['column_mismatch']],
    ['end of the log', `delete from event where seq = 4`, ['head_mismatch']],
    ['beginning of the log', `delete from event where seq = 1`, ['seq_gap', 'hash_mismatch']],
    [
      'record of a run',
      `update run set record = replace(record, '"settled":true', '"settled":false')`,
      ['table_mismatch'],
    ],
    ['list of runs', `delete from run`, ['table_missing_row']],
    ['head', `update ledger_head set seq = 1 where ledger = 'LEDGER'`, ['head_mismatch']],
  ])(
    'of a superuser who turned the guards off and changed the %s is found out by verify',
    async (_case, statement, codes) => {
      const place = await takeLedger();
      onTestFinished(place.giveBack);
      await using ledger = await openLedger(place.url);
      await fill(ledger);
      const session = await plainSession();

      // Straight in the partitions: the tables are other tests' too.
      const { schema, ledger: name } = Object.fromEntries(new URL(place.url).searchParams);
      await session.query(`begin; set local session_replication_role = replica; set local search_path = ${schema};
        ${statement.replace('LEDGER', String(name)).replace(/(?<=^(?:update|delete from) )(?!ledger_head)\w+/, `$&__${name}`)}; commit`);

      const report = await ledger.verify({ rebuild: true });
      expect(report.ok).toBe(false);
      expect([...new Set(report.problems.map(({ code }) => code))]).toEqual(expect.arrayContaining(codes));
    },
  );
});

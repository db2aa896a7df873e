import { cpSync, rmSync } from 'node:fs';
import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { settled, started } from '../support/events.ts';
import type { ForeignRoot } from '../support/foreign-root.ts';
import { foreignRoot, settleRow, startRow } from '../support/foreign-root.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';

const HEADS = 'state/custody.heads.jsonl';

async function filled(): Promise<{ root: ForeignRoot; ledger: Ledger }> {
  const root = foreignRoot();
  const ledger = await root.open();
  await ledger.append([started('run-1', 't-1', { snapshot_id: 's-1' }), started('run-2', 't-2')]);
  await ledger.append([settled('run-1')]);
  await ledger.append([settled('run-2')]);
  return { root, ledger };
}

const codesOf = async (ledger: Ledger) =>
  (await ledger.verify({ rebuild: true })).problems.map((problem) => problem.code);

describe('verify on a log of lines', () => {
  test('P2: tells between which events the log was changed', async () => {
    const { root, ledger } = await filled();
    root.put(
      'logs/events.jsonl',
      root.text('logs/events.jsonl').replace('"state":"succeeded"', '"state":"failed"'),
    );

    const { problems } = await ledger.verify();

    expect(problems).toMatchObject([
      { code: 'head_not_in_chain', seq: 3, file: HEADS, line: 2 },
      { code: 'head_not_in_chain', seq: 4, file: HEADS, line: 3 },
    ]);
    expect(problems[0]?.message).toContain('behind event 2 and up to event 3');
  });

  test('P2: notices a log that ends earlier than it did', async () => {
    const { root, ledger } = await filled();
    const lines = root.text('logs/events.jsonl').split('\n');
    root.put('logs/events.jsonl', `${lines.slice(0, 3).join('\n')}\n`);

    expect(await ledger.verify()).toMatchObject({
      ok: false,
      events: 3,
      problems: [{ code: 'truncated', seq: 4 }],
    });
  });

  test('holds the log against a head that is known from elsewhere', async () => {
    const { root, ledger } = await filled();
    const { seq, hash } = await ledger.head();
    rmSync(root.at(HEADS));

    expect(await ledger.verify({ expectHead: { seq, hash } })).toMatchObject({ ok: true });
    expect(await ledger.verify({ expectHead: { seq, hash: 'f'.repeat(64) } })).toMatchObject({
      ok: false,
      problems: [{ code: 'head_not_in_chain', seq }],
    });
    expect(await ledger.verify({ expectHead: { seq: seq + 1, hash } })).toMatchObject({
      ok: false,
      problems: [{ code: 'truncated' }],
    });
  });

  test('a head that was cut is no fault, and the next one stands alone', async () => {
    const { root, ledger } = await filled();
    root.put(HEADS, root.text(HEADS).slice(0, -10));
    expect(await ledger.verify()).toMatchObject({
      ok: true,
      notes: [{ code: 'torn_line', file: HEADS, line: 3 }],
    });

    await ledger.append([started('run-3', 't-1')]);

    expect(root.text(HEADS).split('\n')).toHaveLength(5);
    expect(await ledger.verify()).toMatchObject({ ok: true, events: 5 });
  });

  test('V10: with rebuild, finds a table that does not say what the log says', async () => {
    const tampering: readonly [string, string][] = [
      ['table_mismatch', `update run set owes_patch = 0 where run_id = 'run-1'`],
      ['table_mismatch', `update task_facts set record = '{"nudge_recorded":true}' where task_id = 't-1'`],
      ['table_missing_row', `delete from run_evidence where run_id = 'run-2'`],
      [
        'table_extra_row',
        `insert into invocation select ledger, 'inv-9', task_id, 1, 1, 1, '2026-03-01T00:00:00.000Z', '{}' from run where run_id = 'run-1'`,
      ],
      ['table_mismatch', `update event set text = replace(text, 'run-2', 'run-9') where seq = 2`],
    ];
    for (const [code, statement] of tampering) {
      const { root, ledger } = await filled();
      await ledger.close();
      const raw = openRawSqlite(root.at('state', 'custody.db'));
      raw.exec(statement);
      raw.close();

      await using looking = await openLedger(root.url, { readOnly: true });
      expect([statement, await codesOf(looking)]).toEqual([statement, [code]]);
      const writing = await root.open();
      expect([statement, await codesOf(writing)]).toEqual([statement, [code]]);
    }
  });

  test('an index that is behind the log, or gone, or of a copied root, is no fault', async () => {
    const { root, ledger } = await filled();
    await ledger.close();
    root.rows(startRow('run-7', 't-7'), settleRow('run-7', 't-7'));
    {
      await using looking = await openLedger(root.url, { readOnly: true });
      expect(await looking.verify({ rebuild: true })).toMatchObject({
        ok: true,
        events: 6,
        notes: [{ code: 'index_behind' }],
      });
    }
    const copy = foreignRoot();
    cpSync(root.path, copy.path, { recursive: true });
    const copied = await copy.open();
    expect(await copied.head()).toMatchObject({ seq: 6 });
    expect(await copied.verify({ rebuild: true })).toMatchObject({ ok: true, events: 6 });

    rmSync(root.at('state', 'custody.db'));
    await using looking = await openLedger(root.url, { readOnly: true });
    expect(await looking.verify({ rebuild: true })).toMatchObject({ ok: true, events: 6, notes: [] });
  });
});
